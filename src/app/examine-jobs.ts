import { access, constants, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { systemClock } from '../base/system.ts';
import type { CommandRunnerConfig, JobEngineConfig } from '../core/config.ts';
import { ApiError } from '../core/errors.ts';
import type { Examination, Finding } from '../core/examination.ts';
import { systemCommands } from '../engines/upstream/jobs/runners/commands.ts';
import { createRunner } from './jobs.ts';

/** Time for the answer of a runner. */
const checkMs = 10_000;

/** Examines what starts the jobs of a model, and the folder of their files, without starting a job. */
export async function examineJobs({ runner, folder }: JobEngineConfig): Promise<Examination> {
  const start = await examineRunner(runner);
  const findings = [
    start,
    ...(runner.kind === 'command' ? await examinePrograms(runner) : []),
    ...(folder === undefined ? [] : [await examineFolder(folder)]),
  ];
  return { flavor: `jobs, ${runner.kind}`, isReachable: start.verdict === 'ok', findings };
}

async function examineRunner(config: JobEngineConfig['runner']): Promise<Finding> {
  const runner = createRunner(config, {
    clock: systemClock,
    commands: systemCommands,
    stateFolder: (job) => job,
  });
  const late = new AbortController();
  const timer = systemClock.after(checkMs, () => late.abort());
  try {
    await runner.check(late.signal);
    const summary = config.kind === 'ray' ? 'the cluster takes jobs' : `${config.command[0]} can be run`;
    return { about: 'runner', verdict: 'ok', summary };
  } catch (error) {
    const { key, advice } = advices[config.kind];
    return { about: 'runner', verdict: 'fault', summary: reasonOf(error, late.signal), advice, key };
  } finally {
    timer.cancel();
    await runner.stop();
  }
}

const advices = {
  ray: {
    key: 'address',
    advice: "Set the address of the cluster's dashboard, such as http://head:8265, and start the cluster.",
  },
  command: {
    key: 'command',
    advice: 'Install it, or write its path: Offpeak searches the PATH that it was started with.',
  },
} as const;

function reasonOf(error: unknown, { aborted }: AbortSignal): string {
  if (aborted) return `the cluster did not answer within ${checkMs / 1_000} s`;
  // The text of the connection says more than "cannot be reached".
  if (error instanceof ApiError && error.cause instanceof Error)
    return `the cluster cannot be reached: ${error.cause.message}`;
  return error instanceof Error ? error.message.replace(/\.$/, '') : String(error);
}

async function examinePrograms({ status, cancel }: CommandRunnerConfig): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [key, command] of Object.entries({ status, cancel })) {
    const program = command?.[0];
    if (program === undefined || (await systemCommands.canRun(program))) continue;
    const summary = `There is no program ${program} for the ${key} of jobs`;
    const { advice } = advices.command;
    findings.push({ about: 'runner', verdict: 'fault', summary, advice, key: key as 'status' | 'cancel' });
  }
  return findings;
}

async function examineFolder(folder: string): Promise<Finding> {
  const found = await nearestFolder(folder);
  const reason = (await stat(found)).isDirectory()
    ? await access(found, constants.W_OK | constants.X_OK).then(
        () => null,
        () => `this user cannot write to ${found}`,
      )
    : `${found} is not a folder`;
  if (reason === null)
    return { about: 'folder', verdict: 'ok', summary: `files can be written to ${folder}` };
  const advice = 'Servers and jobs need to write to it, under the same path.';
  return { about: 'folder', verdict: 'fault', summary: reason, advice, key: 'folder' };
}

/** The folder, or the nearest one above it that exists: a server creates the others. */
async function nearestFolder(path: string): Promise<string> {
  const isThere = await stat(path).then(
    () => true,
    () => false,
  );
  return isThere || dirname(path) === path ? path : nearestFolder(dirname(path));
}
