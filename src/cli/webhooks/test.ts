import type { Command } from 'commander';
import { clientCommand, connect } from '../shared/cli.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import { exitCodes } from '../shared/exit-codes.ts';
import { showDelivery } from './show-webhook.ts';

export function webhooksTest(cli: Cli): Command {
  return clientCommand('test', 'send a webhook an event of the type webhook.test, and tell how that went')
    .argument('<id>')
    .action(async (id: string, options: ClientOptions) => {
      const delivery = await connect(cli, options).webhooks.test(id);
      if (delivery.status !== 'delivered') cli.exitCode = exitCodes.usage;
      if (options.json === true) return cli.terminal.json(delivery);
      showDelivery(delivery, cli.terminal);
    });
}
