import { hostname } from 'node:os';
import { join } from 'node:path';
import { ApiError } from '../../../../core/errors.ts';
import type { JobOrder, JobRunner, StartedJob } from './runner.ts';
import { readState } from './state-words.ts';
import type { Commands } from './commands.ts';
import { createLocalProcesses } from './local-processes.ts';
import { endOf, lastLine } from './log-text.ts';
import { jobVariables } from './variables.ts';

export interface CommandRunnerOptions {
  /** Program and arguments that run or submit a job. */
  command: readonly string[];
  /** Prints the state of a submitted job; absent where `command` runs until the job has ended. */
  status?: readonly string[] | undefined;
  cancel?: readonly string[] | undefined;
  /** Folder on this machine for the log and exit status of a job. */
  stateFolder: (job: string) => string;
  commands: Commands;
}

/** Time limits of the commands that submit, look at and cancel a job. */
const limitMs = { submit: 120_000, look: 60_000 } as const;

/** Runs jobs with commands of the operator, such as `sbatch` and `kubectl` (docs/engines/jobs.md). */
export function createCommandRunner(options: CommandRunnerOptions): JobRunner {
  const { command, status, cancel, commands } = options;
  const processes = createLocalProcesses({ ...options, host: hostname() });
  const logFile = (job: string) => join(options.stateFolder(job), 'log');

  /** Output of a command that succeeds. @throws an error for the operator if it does not */
  async function run(
    asked: readonly string[],
    variables: Record<string, string>,
    ms: number,
  ): Promise<string> {
    const { code, output, errors } = await commands.run(asked, variables, ms);
    if (code === 0) return output;
    throw new Error(`${asked[0]} exited with status ${code}: ${lastLine(errors || output)}`);
  }

  async function submit(order: JobOrder): Promise<string> {
    const handle = lastLine(await run(command, jobVariables(order), limitMs.submit));
    if (handle === '') throw new Error(`${command[0]} printed no id of the job on its standard output.`);
    return handle;
  }

  /** Looks at or ends a job that was started. */
  const runFor = (job: StartedJob, asked: readonly string[]) =>
    run(asked, { ...jobVariables(job), OFFPEAK_HANDLE: job.handle }, limitMs.look);

  return {
    name: command[0]!,
    start: (order) => (status ? submit(order) : processes.start(command, order, jobVariables(order))),
    stateOf: async (job) => (status ? readState(await runFor(job, status)) : processes.stateOf(job)),

    async cancel(job) {
      if (cancel) await runFor(job, cancel);
      if (!status) await processes.cancel(job);
    },

    async logOf({ id }) {
      return status ? '' : endOf((await commands.readText(logFile(id))) ?? '');
    },

    async check() {
      if (await commands.canRun(command[0]!)) return;
      throw new ApiError('upstream_unreachable', `There is no program ${command[0]} to start jobs with.`);
    },

    stop: () => Promise.resolve(),
  };
}
