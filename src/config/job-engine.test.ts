import { describe, expect, it } from 'vitest';
import { loadConfig } from '../config.ts';
import { ConfigError } from './source-value.ts';

function load(engine: string) {
  const readFile = () => `models:\n  - id: big\n    engine: { kind: job, ${engine} }\n`;
  return loadConfig({
    env: {},
    cwd: '/etc',
    flags: { config: 'offpeak.yaml' },
    readFile,
    exists: () => true,
  });
}

function problem(engine: string): string {
  try {
    load(engine);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return 'none';
}

describe('an engine of jobs', () => {
  it('runs a command', () => {
    expect(load('run: command, command: [sbatch, --wait, batch.sh]').models[0]!.engine).toEqual({
      kind: 'job',
      runner: { kind: 'command', command: ['sbatch', '--wait', 'batch.sh'] },
      model: null,
      flavor: 'vllm',
      lines: 10_000,
      jobs: 1,
      waitMs: 10_000,
      pollMs: 5_000,
      maxMs: 86_400_000,
    });
  });

  it('runs on Ray', () => {
    const more = 'runtime_env: { working_dir: s3://b/code.zip, env_vars: { COPIES: "4" }, pip: [vllm] }';
    const rest =
      'model: m, flavor: generic, folder: shared, lines: 500, jobs: 3, wait: 1m, poll: 2s, max_time: 3h';
    const engine = load(
      `run: ray, address: "http://head:8265/", entrypoint: python batch.py, ${more}, ${rest}`,
    );
    expect(engine.models[0]!.engine).toMatchObject({
      runner: {
        kind: 'ray',
        address: 'http://head:8265',
        entrypoint: 'python batch.py',
        runtimeEnv: { working_dir: 's3://b/code.zip', env_vars: { COPIES: '4' }, pip: ['vllm'] },
        headers: {},
      },
      model: 'm',
      flavor: 'generic',
      folder: '/etc/shared',
      lines: 500,
      jobs: 3,
      waitMs: 60_000,
      pollMs: 2_000,
      maxMs: 10_800_000,
    });
  });

  it.each([
    ['', 'models[0].engine: needs run. One of command, ray.'],
    ['run: slurm', 'models[0].engine.run: must be one of command, ray'],
    ['run: command', 'models[0].engine: needs a command. For example'],
    ['run: command, command: sbatch batch.sh', 'models[0].engine.command: expected a list with a program.'],
    ['run: command, command: []', 'models[0].engine.command: expected a list with a program.'],
    [
      'run: ray',
      'models[0].engine: needs an address. That of the Ray dashboard, for example http://head:8265',
    ],
    [
      'run: ray, address: "http://u:p@h:1", entrypoint: x',
      'engine.address: must not contain a user name or password',
    ],
    ['run: ray, address: "http://h:1"', 'models[0].engine: needs an entrypoint.'],
    [
      'run: ray, address: head, entrypoint: x',
      'models[0].engine.address: expected an http:// or https:// URL',
    ],
    [
      'run: command, command: [x], address: "http://h:1"',
      'engine.address: has no effect with run: command. Remove it.',
    ],
    [
      'run: ray, address: "http://h:1", entrypoint: x, status: [y]',
      'engine.status: has no effect with run: ray.',
    ],
    [
      'run: command, command: [x], jobs: 10',
      'engine.jobs: lines x jobs is 100000, and must be at most 65536.',
    ],
  ])('%s is refused', (engine, message) => {
    expect(problem(engine)).toContain(message);
  });
});
