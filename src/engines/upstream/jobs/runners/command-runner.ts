import { hostname } from 'node:os';
import { join } from 'node:path';
import { ApiError } from '../../../../core/errors.ts';
import type { JobOrder, JobRunner, JobState, StartedJob } from './runner.ts';
import { readState } from './state-words.ts';
import type { Commands } from './commands.ts';
import { createLocalProcesses } from './local-processes.ts';

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
/** Characters of a log that are shown. */
const maxLog = 2_000;

/** Runs jobs with commands of the operator, such as `sbatch` and `kubectl` (docs/engines/jobs.md). */
export function createCommandRunner(options: CommandRunnerOptions): JobRunner {
  const { command, status, cancel, commands } = options;
  const processes = createLocalProcesses({ ...options, host: hostname() });
  const logFile = (job: string) => join(options.stateFolder(job), 'log');

  async function submit(order: JobOrder): Promise<string> {
    const { code, output, errors } = await commands.run(command, variables(order), limitMs.submit);
    if (code !== 0)
      throw new Error(`${command[0]} exited with status ${code}: ${lastLine(errors || output)}`);
    const handle = lastLine(output);
    if (handle === '') throw new Error(`${command[0]} printed no id of the job on its standard output.`);
    return handle;
  }

  async function submittedState(job: StartedJob): Promise<JobState> {
    const { code, output, errors } = await commands.run(status!, variables(job), limitMs.look);
    if (code !== 0)
      throw new Error(`${status![0]} exited with status ${code}: ${lastLine(errors || output)}`);
    return readState(output);
  }

  return {
    name: command[0]!,
    start: (order) => (status ? submit(order) : processes.start(command, order, variables(order))),
    stateOf: (job) => (status ? submittedState(job) : processes.stateOf(job)),

    async cancel(job) {
      if (cancel) {
        const { code, output, errors } = await commands.run(cancel, variables(job), limitMs.look);
        if (code !== 0)
          throw new Error(`${cancel[0]} exited with status ${code}: ${lastLine(errors || output)}`);
      }
      if (!status) await processes.cancel(job);
    },

    async logOf({ id }) {
      const text = status ? '' : ((await commands.readText(logFile(id))) ?? '');
      return text.trimEnd().slice(-maxLog);
    },

    async check() {
      if (await commands.canRun(command[0]!)) return;
      throw new ApiError('upstream_unreachable', `There is no program ${command[0]} to start jobs with.`);
    },

    stop: () => Promise.resolve(),
  };
}

/** Variables that the commands read. */
function variables(job: JobOrder | StartedJob): Record<string, string> {
  return {
    OFFPEAK_JOB: job.id,
    OFFPEAK_MODEL: job.model,
    OFFPEAK_LINES: String(job.lines),
    OFFPEAK_INPUT: job.input,
    OFFPEAK_OUTPUT: job.output,
    ...('handle' in job && { OFFPEAK_HANDLE: job.handle }),
  };
}

function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1)!.trim();
}
