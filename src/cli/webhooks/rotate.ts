import type { Command } from 'commander';
import { clientCommand, connect } from '../shared/cli.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import { showWebhook } from './show-webhook.ts';

export function webhooksRotate(cli: Cli): Command {
  return clientCommand('rotate', 'make a new secret; the one before signs, too, for 24 hours')
    .argument('<id>')
    .action(async (id: string, options: ClientOptions) => {
      const webhook = await connect(cli, options).webhooks.rotate(id);
      if (options.json === true) return cli.terminal.json(webhook);
      showWebhook(webhook, cli.terminal);
    });
}
