import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../../../../../test/support/until.ts';
import { createCommandRunner } from './command-runner.ts';
import { systemCommands } from './commands.ts';
import type { JobState, StartedJob } from './runner.ts';

let folder: string;

beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'offpeak-jobs-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const order = (id = 'job-1') => ({
  id,
  model: 'big',
  lines: 3,
  input: join(folder, 'input.jsonl'),
  output: join(folder, 'output'),
});

function runnerOf(command: string, more: { status?: string; cancel?: string } = {}) {
  const shell = (text: string | undefined) => (text === undefined ? undefined : ['sh', '-c', text]);
  return createCommandRunner({
    command: shell(command)!,
    status: shell(more.status),
    cancel: shell(more.cancel),
    stateFolder: (job) => join(folder, job),
    commands: systemCommands,
  });
}

type Runner = ReturnType<typeof runnerOf>;

const ended = (runner: Runner, job: StartedJob) =>
  until('the end of the job', async (): Promise<JobState | undefined> => {
    const state = await runner.stateOf(job);
    return state.state === 'running' ? undefined : state;
  });

describe('a command that runs until its job has ended', () => {
  it('reads the variables, and its exit status is the end of the job', async () => {
    const runner = runnerOf(
      'echo "$OFFPEAK_JOB $OFFPEAK_MODEL $OFFPEAK_LINES $OFFPEAK_INPUT $OFFPEAK_OUTPUT"; exit 3',
    );
    const job = { ...order(), handle: await runner.start(order()) };
    expect(await ended(runner, job)).toEqual({ state: 'failed', note: 'The command exited with status 3.' });
    expect(await runner.logOf(job)).toBe(`job-1 big 3 ${order().input} ${order().output}`);
    const good = runnerOf('true');
    const next = { ...order('job-2'), handle: await good.start(order('job-2')) };
    expect(await ended(good, next)).toEqual({ state: 'succeeded' });
  });

  it('is not started again for a job that another process started', async () => {
    const runner = runnerOf(`echo run >>${folder}/runs; sleep 60`);
    const handle = await runner.start(order());
    await until('the run', () => systemCommands.readText(join(folder, 'runs')));
    expect(await runnerOf('exit 1').start(order())).toBe(handle);
    expect(await systemCommands.readText(join(folder, 'runs'))).toBe('run\n');
    await runner.cancel({ ...order(), handle });
    expect(await ended(runner, { ...order(), handle })).toMatchObject({ state: 'failed' });
  });

  it('is ended with all that it started when the job is cancelled', async () => {
    const runner = runnerOf('sleep 60 & echo $! >"$OFFPEAK_OUTPUT"; wait');
    const job = { ...order(), handle: await runner.start(order()) };
    const child = Number(await until('the child', () => systemCommands.readText(job.output)));
    await runner.cancel(job);
    await until('the end of the child', async () => (await systemCommands.argumentsOf(child)) === undefined);
    expect(await ended(runner, job)).toEqual({ state: 'failed', note: 'The command was killed.' });
  });

  it('counts as running on another machine until its exit status is there', async () => {
    const runner = runnerOf('true');
    expect(await runner.stateOf({ ...order(), handle: 'other-host/1' })).toEqual({ state: 'running' });
  });

  it('gets no setting of Offpeak, which may be a key', async () => {
    process.env['OFFPEAK_API_KEY'] = 'secret';
    try {
      const runner = runnerOf('echo "key: $OFFPEAK_API_KEY"');
      const job = { ...order(), handle: await runner.start(order()) };
      await ended(runner, job);
      expect(await runner.logOf(job)).toBe('key:');
    } finally {
      delete process.env['OFFPEAK_API_KEY'];
    }
  });
});

describe('a command that submits a job', () => {
  it('prints the id of the job, by which its state is asked', async () => {
    const status = `test "$OFFPEAK_HANDLE" = 4711 && cat ${folder}/state`;
    const runner = runnerOf(`echo RUNNING >${folder}/state; echo Submitted; echo 4711`, { status });
    const job = { ...order(), handle: await runner.start(order()) };
    expect(job.handle).toBe('4711');
    expect(await runner.stateOf(job)).toEqual({ state: 'running' });
    await systemCommands.run(['sh', '-c', `echo COMPLETED >${folder}/state`], {}, 10_000);
    expect(await runner.stateOf(job)).toEqual({ state: 'succeeded' });
  });

  it('explains why no job was submitted', async () => {
    const status = 'true';
    await expect(runnerOf('echo no such partition >&2; exit 2', { status }).start(order())).rejects.toThrow(
      'sh exited with status 2: no such partition',
    );
    await expect(runnerOf('true', { status }).start(order())).rejects.toThrow(
      'sh printed no id of the job on its standard output.',
    );
  });

  it('has an unknown state where the status command fails', async () => {
    const runner = runnerOf('echo 1', { status: 'echo timed out >&2; exit 1' });
    await expect(runner.stateOf({ ...order(), handle: '1' })).rejects.toThrow(
      'sh exited with status 1: timed out',
    );
  });

  it('is cancelled by its cancel command', async () => {
    const runner = runnerOf('echo 1', {
      status: 'true',
      cancel: `echo "$OFFPEAK_HANDLE" >${folder}/cancelled`,
    });
    await runner.cancel({ ...order(), handle: '17' });
    expect(await systemCommands.readText(join(folder, 'cancelled'))).toBe('17\n');
  });
});

it('needs its program', async () => {
  const commands = { stateFolder: () => folder, commands: systemCommands };
  const never = new AbortController().signal;
  await createCommandRunner({ command: ['sh'], ...commands }).check(never);
  await expect(
    createCommandRunner({ command: ['no-such-program'], ...commands }).check(never),
  ).rejects.toThrow('There is no program no-such-program to start jobs with.');
});
