import { flushCompileCache } from 'node:module';
import { Command } from 'commander';
import type { Config } from '../../config.ts';
import type { Cli } from '../shared/cli.ts';
import { examples } from '../shared/commands.ts';
import { announce, warnUnreachable, announceJson } from './announce.ts';
import { CliError } from '../shared/exit-codes.ts';
import { firstSignal, onHangup } from '../shared/signals.ts';
import { readConfig, reloadFlags, withServerFlags, type ServerFlags } from '../shared/server-flags.ts';
import { ignoreClosedOutput } from '../terminal/terminal.ts';

export function serve(cli: Cli): Command {
  return withServerFlags(new Command('serve'))
    .option('--json', 'print one line of JSON when ready')
    .addHelpText('after', examples('', '--port 0 --data ./data --config offpeak.yaml'))
    .action(async (flags: ServerFlags & { json?: boolean }) => {
      // What a server writes is for nobody else on this machine, whatever folder it is told to use.
      process.umask(0o077);
      const config = readConfig(cli, flags);
      const again = reloadFlags(cli, flags);
      // Client commands start faster without everything that a server is made of.
      const { createApp } = await import('../../app.ts');
      const app = await createApp(config);
      const signal = firstSignal();
      ignoreClosedOutput(process);
      try {
        const begun = app.start().catch((error: unknown) => {
          throw explainStart(error, config);
        });
        // A signal during the start wins; `stop` then ends what had begun.
        if ((await Promise.race([begun, signal])) === undefined) {
          onHangup(() => void app.reload(() => readConfig(cli, again, { isReload: true })));
          if (flags.json === true) announceJson(app, cli.terminal);
          else announce(app, config, cli.terminal);
          // A server that does not even refuse is waited for by nobody.
          void app.unavailableServers().then((away) => warnUnreachable(away, cli.terminal));
          // Otherwise written at the end, which a kill never reaches.
          flushCompileCache();
        } else {
          begun.catch(() => {});
        }
        await signal;
        cli.terminal.note('Stopping: nothing new is taken, what runs may finish. Once more stops at once.');
      } finally {
        await app.stop();
      }
    });
}

/** What the system refused at the start, as a sentence and what to do about it; other errors as they are. */
function explainStart(error: unknown, config: Config): unknown {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return error;
  // The one of clients, or the one of monitoring.
  const isMetrics = 'port' in error && config.metrics !== undefined && error.port === config.metrics.port;
  const { host, port } = isMetrics ? config.metrics! : config.server;
  const [portAt, hostAt] = isMetrics ? ['metrics.port', 'metrics.host'] : ['--port', '--host'];
  const syscall = 'syscall' in error ? error.syscall : undefined;
  if (error.code === 'EADDRINUSE')
    return new CliError(
      `Port ${port} on ${host} is in use already.`,
      `Choose another with ${portAt}; 0 takes a free one.`,
    );
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND')
    return new CliError(`This machine has no address ${host}.`, `Choose another with ${hostAt}.`);
  if (error.code === 'EACCES' && syscall === 'listen')
    return new CliError(`This user may not listen on port ${port}.`, `Choose one above 1023 with ${portAt}.`);
  if (syscall === 'mkdir' || error.code === 'EACCES' || error.code === 'EROFS')
    return new CliError(
      `The data folder ${config.data} cannot be used: ${folderReason(error.code)}.`,
      'Choose another with --data.',
    );
  return error;
}

function folderReason(code: string): string {
  if (code === 'EEXIST' || code === 'ENOTDIR') return 'it is a file, or lies below one';
  if (code === 'EACCES' || code === 'EPERM') return 'this user may not write there';
  if (code === 'ENOENT') return 'no folder can be made there';
  if (code === 'EROFS') return 'it is read-only';
  return code === 'ENOSPC' ? 'the disk is full' : `the system says ${code}`;
}
