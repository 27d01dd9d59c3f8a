import { execFile, spawn } from 'node:child_process';
import { access, constants, open, readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
// oxlint-disable-next-line no-restricted-imports -- passed on to the commands, which find their programs and clusters by it
import { env, kill } from 'node:process';
import { makeFolder } from '../../../../base/make-folder.ts';

export interface CommandResult {
  /** Exit status; -1 for a command that was killed or could not be started. */
  code: number;
  output: string;
  errors: string;
}

/** Access to the programs and processes of this machine; tests pass their own. */
export interface Commands {
  /** Runs a command to its end, at most `limitMs`. */
  run(command: readonly string[], variables: Record<string, string>, limitMs: number): Promise<CommandResult>;
  /** Starts a command in `folder` that continues after the end of this process. @returns its process id */
  launch(command: readonly string[], variables: Record<string, string>, folder: string): Promise<number>;
  /** Arguments of a process; undefined if it does not run, null if the system does not show them. */
  argumentsOf(pid: number): Promise<string | null | undefined>;
  /** Ends a process and those that it started, with SIGTERM. */
  end(pid: number): void;
  /** Text of a file; undefined if it is missing. */
  readText(path: string): Promise<string | undefined>;
  canRun(program: string): Promise<boolean>;
}

/** Longest output of a command. */
const maxOutputBytes = 1024 * 1024;

export const systemCommands: Commands = {
  run: ([program, ...args], variables, limitMs) =>
    new Promise((resolve) => {
      const options = { env: environment(variables), timeout: limitMs, maxBuffer: maxOutputBytes };
      execFile(program!, args, options, (error, output, errors) => {
        const code = error ? (typeof error.code === 'number' ? error.code : -1) : 0;
        const reason = error && code === -1 ? `${errors}\n${error.message}` : errors;
        resolve({ code, output, errors: reason });
      });
    }),

  async launch([program, ...args], variables, folder) {
    await makeFolder(folder, 0o700);
    // A file and not a pipe, whose end would end the command with this process.
    const log = await open(join(folder, 'log'), 'a', 0o600);
    try {
      const child = spawn(program!, args, {
        cwd: folder,
        env: environment(variables),
        detached: true,
        stdio: ['ignore', log.fd, log.fd],
      });
      const started = Promise.withResolvers<void>();
      child.on('spawn', started.resolve);
      child.on('error', started.reject);
      await started.promise;
      child.unref();
      return child.pid!;
    } finally {
      await log.close();
    }
  },

  async argumentsOf(pid) {
    try {
      kill(pid, 0);
    } catch {
      return undefined;
    }
    // Empty for a process that has ended and that its parent has not waited for.
    return readFile(`/proc/${pid}/cmdline`, 'utf8').then(
      (text) => text || undefined,
      () => null,
    );
  },

  end(pid) {
    try {
      kill(-pid, 'SIGTERM');
    } catch {
      // It has ended.
    }
  },

  readText: (path) => readFile(path, 'utf8').catch(() => undefined),

  async canRun(program) {
    const folders = program.includes('/') ? [''] : (env['PATH'] ?? '').split(delimiter);
    for (const folder of folders)
      if (await isExecutable(folder === '' ? program : join(folder, program))) return true;
    return false;
  },
};

function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** The environment of this process without its own settings, which include keys. */
function environment(variables: Record<string, string>): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(([name]) => !name.startsWith('OFFPEAK_'));
  return { ...Object.fromEntries(kept), ...variables };
}
