import type { Command } from 'commander';
import { clientCommand, connect, wholeNumber } from '../shared/cli.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import { take } from '../shared/pages.ts';
import { deliveryRow } from './show-webhook.ts';

interface Options extends ClientOptions {
  limit: number;
}

export function webhooksDeliveries(cli: Cli): Command {
  return clientCommand('deliveries', 'list what a webhook was told, newest first')
    .argument('<id>')
    .option('-n, --limit <n>', 'how many at most', wholeNumber('--limit', 1, 1_000_000), 20)
    .action(async (id: string, options: Options) => {
      const client = connect(cli, options);
      const found = await take(options.limit, 100, (query) => client.webhooks.deliveries(id, query));
      if (options.json === true) return cli.terminal.json(found);
      const head = ['id', 'event', 'of', 'status', 'attempts', 'answered', 'next', 'error'];
      cli.terminal.table(head, found.map(deliveryRow));
    });
}
