import { getCompileCacheDir } from 'node:module';
import { systemFetch, systemRandom, keepAliveClock } from '../base/system.ts';
import { environment } from '../config/environment.ts';
import { exitCodes } from './shared/exit-codes.ts';
import { run } from './run.ts';
import { exampleRequests, selfCommand } from './self-command.ts';
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
