import { flushCompileCache } from 'node:module';
import { Command } from 'commander';
import { formatDuration } from '../../base/duration.ts';
import { removeProto } from '../../base/remove-proto.ts';
import type { Config } from '../../config.ts';
import { servesRequests } from '../../core/role.ts';
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
      removeProto();
      // Files of the server are private to its user, in any folder.
      process.umask(0o077);
      const config = readConfig(cli, flags);
      const again = reloadFlags(cli, flags);
      // Loaded here to keep client commands fast.
      const { createApp } = await import('../../app.ts');
      const app = await createApp(config);
      const signal = firstSignal();
      ignoreClosedOutput(process);
      try {
        const begun = app.start().catch((error: unknown) => {
          throw explainStart(error, config);
        });
        // A signal during start-up wins, and `stop` ends the partial start.
        if ((await Promise.race([begun, signal])) === undefined) {
          onHangup(() => void app.reload(() => readConfig(cli, again, { isReload: true })));
          if (flags.json === true) announceJson(app, cli.terminal);
          else announce(app, config, cli.terminal);
          // Not awaited: an upstream may not respond at all.
          void app.unavailableServers().then((away) => warnUnreachable(away, cli.terminal));
          // Written now, because a killed process never reaches its exit.
          flushCompileCache();
        } else {
          begun.catch(() => {});
        }
        await signal;
        const { role, drainDelayMs: delay } = config;
        const accepting =
          delay > 0 && servesRequests(role)
            ? `accepting requests for ${formatDuration(delay)} more`
            : 'accepting no new ones';
        cli.terminal.note(
          `Stopping: finishing requests in flight, ${accepting}. Press Ctrl-C again to stop at once.`,
        );
      } finally {
        await app.stop();
      }
    });
}

/** Error of the operating system at start-up, as a sentence with a hint; other errors unchanged. */
function explainStart(error: unknown, config: Config): unknown {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return error;
  const isMetrics = 'port' in error && config.metrics !== undefined && error.port === config.metrics.port;
  const { host, port } = isMetrics ? config.metrics! : config.server;
  const [portAt, hostAt] = isMetrics ? ['metrics.port', 'metrics.host'] : ['--port', '--host'];
  const syscall = 'syscall' in error ? error.syscall : undefined;
  if (error.code === 'EADDRINUSE')
    return new CliError(
      `Port ${port} on ${host} is already in use.`,
      `Choose another port with ${portAt}; 0 picks a free one.`,
    );
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND')
    return new CliError(`This machine has no address ${host}.`, `Choose another address with ${hostAt}.`);
  if (error.code === 'EACCES' && syscall === 'listen')
    return new CliError(
      `No permission to listen on port ${port}.`,
      `Choose a port above 1023 with ${portAt}.`,
    );
  if (syscall === 'mkdir' || error.code === 'EACCES' || error.code === 'EROFS')
    return new CliError(
      `The data folder ${config.data} cannot be used: ${folderReason(error.code)}.`,
      'Choose another folder with --data.',
    );
  return error;
}

function folderReason(code: string): string {
  if (code === 'EEXIST' || code === 'ENOTDIR') return 'it is a file, or inside one';
  if (code === 'EACCES' || code === 'EPERM') return 'no permission to write there';
  if (code === 'ENOENT') return 'the folder cannot be created';
  if (code === 'EROFS') return 'it is read-only';
  return code === 'ENOSPC' ? 'the disk is full' : `system error ${code}`;
}
