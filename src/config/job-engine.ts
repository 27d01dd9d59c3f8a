import { dayMs } from '../base/clock.ts';
import type { CommandRunnerConfig, JobEngineConfig, RayRunnerConfig } from '../core/config.ts';
import { modelInputs } from '../core/model.ts';
import { type ConfigContext, folder, omitUndefined, withLocation } from './context.ts';
import { flavorOf } from './flavor.ts';
import { headers } from './headers.ts';
import { configKeys } from './keys.ts';
import type { Checker, SourceValue } from './source-value.ts';

type Fields = Partial<Record<(typeof configKeys.job)[number], SourceValue>>;

/** Keys of one runner, which another one does not read. */
const runnerKeys = {
  command: ['command', 'status', 'cancel'],
  ray: ['address', 'entrypoint', 'runtime_env', 'headers'],
} as const;

/** Slots that all jobs of a model may have together; the openai engine has the same limit. */
const maxSlots = 65_536;

export function jobEngine(at: SourceValue, context: ConfigContext): JobEngineConfig | undefined {
  const { check } = context;
  const fields = check.object(at, configKeys.job);
  const runner = runnerOf(at, fields, check);
  if (!runner) return undefined;
  const { flavor, ownTraits } = flavorOf(fields.flavor, check);
  const lines = check.whole(fields.lines, { min: 1, max: maxSlots }) ?? 10_000;
  const jobs = check.whole(fields.jobs, { min: 1, max: 1_000 }) ?? 1;
  if (lines * jobs > maxSlots)
    check.fail(
      fields.jobs ?? at,
      `lines x jobs is ${lines * jobs}, and must be at most ${maxSlots}`,
      'Lower lines or jobs.',
    );
  const engine: JobEngineConfig = omitUndefined({
    kind: 'job',
    runner,
    model: check.text(fields.model) ?? null,
    flavor: flavor ?? 'vllm',
    ownTraits,
    inputs: check.list(fields.inputs)?.flatMap((item) => check.choice(item, modelInputs) ?? []),
    folder: folder(fields.folder, context),
    lines,
    jobs,
    waitMs: check.duration(fields.wait) ?? 10_000,
    pollMs: check.duration(fields.poll) ?? 5_000,
    maxMs: check.duration(fields.max_time) ?? dayMs,
  });
  return withLocation(engine, { '': at, ...fields });
}

function runnerOf(
  at: SourceValue,
  fields: Fields,
  check: Checker,
): CommandRunnerConfig | RayRunnerConfig | undefined {
  if (fields.run === undefined) return check.fail(at, 'needs run', 'One of command, ray.');
  const kind = check.choice(fields.run, ['command', 'ray'] as const);
  if (kind === undefined) return undefined;
  for (const key of runnerKeys[kind === 'ray' ? 'command' : 'ray'])
    if (fields[key]) check.fail(fields[key], `has no effect with run: ${kind}`, 'Remove it.');
  return kind === 'ray' ? ray(at, fields, check) : command(at, fields, check);
}

function command(at: SourceValue, fields: Fields, check: Checker): CommandRunnerConfig | undefined {
  if (fields.command === undefined)
    return check.fail(at, 'needs a command', 'For example command: [sbatch, --wait, batch.sh]');
  return omitUndefined<CommandRunnerConfig>({
    kind: 'command',
    command: argumentsOf(fields.command, check) ?? [],
    status: fields.status && argumentsOf(fields.status, check),
    cancel: fields.cancel && argumentsOf(fields.cancel, check),
  });
}

function argumentsOf(at: SourceValue, check: Checker): string[] | undefined {
  const hint = 'A list of the program and its arguments, such as [sh, -c, "sbatch --parsable batch.sh"].';
  if (!Array.isArray(at.value) || at.value.length === 0)
    return check.fail(at, 'expected a list with a program', hint);
  return at.value.flatMap((item) => check.text(item) ?? []);
}

function ray(at: SourceValue, fields: Fields, check: Checker): RayRunnerConfig | undefined {
  if (fields.address === undefined)
    return check.fail(at, 'needs an address', 'That of the Ray dashboard, for example http://head:8265');
  if (fields.entrypoint === undefined)
    return check.fail(at, 'needs an entrypoint', 'For example entrypoint: python batch.py');
  return {
    kind: 'ray',
    address: address(fields.address, check),
    entrypoint: check.text(fields.entrypoint) ?? '',
    runtimeEnv: fields.runtime_env ? environment(fields.runtime_env, check) : {},
    headers: fields.headers ? headers(fields.headers, check) : {},
  };
}

function address(at: SourceValue, check: Checker): string {
  const found = check.url(at);
  if (found === undefined) return '';
  const { username, password } = new URL(found);
  const hint = 'Write headers: { authorization: "Basic ..." }.';
  if (username !== '' || password !== '') check.fail(at, 'must not contain a user name or password', hint);
  return found;
}

function environment(at: SourceValue, check: Checker): Record<string, unknown> {
  if (!(at.value instanceof Map)) {
    check.fail(at, 'expected an object', 'For example runtime_env: { working_dir: s3://bucket/code.zip }');
    return {};
  }
  return plainValue(at) as Record<string, unknown>;
}

/** The value as JSON has it. */
function plainValue({ value }: SourceValue): unknown {
  if (Array.isArray(value)) return value.map(plainValue);
  if (!(value instanceof Map)) return value;
  return Object.fromEntries([...value].map(([key, field]) => [key, plainValue(field)]));
}
