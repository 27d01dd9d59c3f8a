import type { Command } from 'commander';
import { clientCommand, connect } from './cli.ts';
import type { Cli, ClientOptions } from './cli.ts';
import { exitCodes } from './exit-codes.ts';
import { showDelivery } from './webhooks/show-webhook.ts';

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
