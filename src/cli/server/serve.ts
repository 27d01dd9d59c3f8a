import { flushCompileCache } from 'node:module';
import { Command } from 'commander';
import type { Cli } from '../shared/cli.ts';
import { examples } from '../shared/commands.ts';
import { announce, announceAway, announceJson } from './announce.ts';
import { explainStart } from './explain-start.ts';
import { firstSignal, onHangup } from '../shared/signals.ts';
import { configOf, withServerFlags } from '../shared/server-flags.ts';
import type { ServerFlags } from '../shared/server-flags.ts';

export function serve(cli: Cli): Command {
  return withServerFlags(new Command('serve'))
    .option('--json', 'print one line of JSON when ready')
    .addHelpText('after', examples('', '--port 0 --data ./data --config offpeak.yaml'))
    .action(async (flags: ServerFlags & { json?: boolean }) => {
      // What a server writes is for nobody else on this machine, whatever folder it is told to use.
      process.umask(0o077);
      const config = configOf(cli, flags);
      // Client commands start faster without everything that a server is made of.
      const { createApp } = await import('../../app.ts');
      const app = await createApp(config);
      const signal = firstSignal();
      try {
        const begun = app.start().catch((error: unknown) => {
          throw explainStart(error, config);
        });
        // A signal during the start wins; `stop` then ends what had begun.
        if ((await Promise.race([begun, signal])) === undefined) {
          onHangup(() => void app.reload(() => configOf(cli, flags)));
          if (flags.json === true) announceJson(app, cli.terminal);
          else announce(app, config, cli.terminal);
          // A server that does not even refuse is waited for by nobody.
          void app.serversAway().then((away) => announceAway(away, cli.terminal));
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
