import { join } from 'node:path';
import type { Commands } from './commands.ts';
import type { JobOrder, JobState, StartedJob } from './runner.ts';

export interface LocalProcessesDeps {
  stateFolder: (job: string) => string;
  commands: Commands;
  /** Name of this machine. */
  host: string;
}

/**
 * Runs the command ($1 and on) in the folder $0, and leaves its process id and exit status there, for a process of Offpeak that was not
 * its parent.
 */
const wrapper =
  'echo $$ >"$0/pid" && "$@"; code=$?; echo $code >"$0/exit.new" && mv "$0/exit.new" "$0/exit"; exit $code';

/** Commands that run as processes of this machine until their job has ended. They survive a restart of Offpeak. */
export function createLocalProcesses({ stateFolder, commands, host }: LocalProcessesDeps) {
  const read = async (job: string, name: string) =>
    (await commands.readText(join(stateFolder(job), name)))?.trim() || undefined;

  const handleOf = (pid: number | string) => `${host}/${pid}`;

  /** Process id of a job of this machine; undefined for one of another. */
  function pidOf(handle: string): number | undefined {
    const at = handle.lastIndexOf('/');
    return handle.slice(0, at) === host ? Number(handle.slice(at + 1)) : undefined;
  }

  /** True while the process runs. Ids are used again, so its arguments count. */
  async function isRunning(pid: number, job: string): Promise<boolean> {
    const found = await commands.argumentsOf(pid);
    return found === null || (found?.includes(job) ?? false);
  }

  return {
    async start(command: readonly string[], { id }: JobOrder, variables: Record<string, string>) {
      // Another process may have started it without recording that.
      const before = await read(id, 'pid');
      if (before !== undefined) return handleOf(before);
      const folder = stateFolder(id);
      return handleOf(await commands.launch(['sh', '-c', wrapper, folder, ...command], variables, folder));
    },

    async stateOf({ id, handle }: StartedJob): Promise<JobState> {
      const pid = pidOf(handle);
      const mayRun = pid === undefined || (await isRunning(pid, id));
      // Read last: the process may just have ended.
      const exit = await read(id, 'exit');
      if (exit === '0') return { state: 'succeeded' };
      if (exit !== undefined) return { state: 'failed', note: `The command exited with status ${exit}.` };
      return mayRun ? { state: 'running' } : { state: 'failed', note: 'The command was killed.' };
    },

    async cancel({ id, handle }: StartedJob): Promise<void> {
      const pid = pidOf(handle);
      if (pid !== undefined && (await isRunning(pid, id))) commands.end(pid);
    },
  };
}
