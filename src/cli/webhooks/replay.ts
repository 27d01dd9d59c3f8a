import type { Command } from 'commander';
import { clientCommand, connect } from '../shared/cli.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import { showDelivery } from './show-webhook.ts';

export function webhooksReplay(cli: Cli): Command {
  return clientCommand('replay', 'tell of the event of a delivery again, in a new one')
    .argument('<delivery>')
    .action(async (id: string, options: ClientOptions) => {
      const delivery = await connect(cli, options).webhooks.replay(id);
      if (options.json === true) return cli.terminal.json(delivery);
      showDelivery(delivery, cli.terminal);
    });
}
