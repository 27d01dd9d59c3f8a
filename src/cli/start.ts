import { existsSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { delimiter, join } from 'node:path';
import { isCheckout, packageFolder as root } from '../base/program.ts';
import { systemFetch, systemRandom, keepAliveClock } from '../base/system.ts';
import { environment } from '../config/environment.ts';
import { exitCodes } from './shared/exit-codes.ts';
import { showPath } from './shared/local-file.ts';
import { run } from './run.ts';
import { createTerminal, exitOnClosedOutput } from './terminal/terminal.ts';

export async function start(): Promise<void> {
  // The launcher of a checkout may be killed: then stop, too.
  process.channel?.unref();
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  exitOnClosedOutput(process);
  // Threads and child processes share the compile cache.
  const compiled = getCompileCacheDir();
  if (compiled !== undefined) environment.NODE_COMPILE_CACHE ??= compiled;
  const cwd = process.cwd();
  const self = { command: selfCommand({ env: environment, cwd }), example: exampleRequests({ cwd }) };
  const code = await run(process.argv.slice(2), {
    terminal: createTerminal(process, self),
    fetch: systemFetch,
    clock: keepAliveClock,
    random: systemRandom,
    onInterrupt(handle) {
      process.on('SIGINT', handle);
      return () => void process.off('SIGINT', handle);
    },
    env: environment,
    cwd,
    ownsProcess: true,
    exitCode: exitCodes.ok,
  });
  process.exitCode = code;
}

/** Command that runs this program from the current folder, for hints: `bin/offpeak`, `npx offpeak` or `offpeak`. */
export function selfCommand({ env, cwd }: { env: Record<string, string | undefined>; cwd: string }): string {
  if (isCheckout) return showPath({ cwd }, join(root, 'bin', 'offpeak')).replace(/^offpeak$/, './offpeak');
  if (env.npm_command === 'exec') return 'npx offpeak';
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.some((folder) => existsSync(join(folder, 'offpeak'))) ? 'offpeak' : 'npx offpeak';
}

/** Path of the example requests that every installation contains. */
export function exampleRequests({ cwd }: { cwd: string }): string {
  return showPath({ cwd }, join(root, 'examples', 'demo.jsonl'));
}
