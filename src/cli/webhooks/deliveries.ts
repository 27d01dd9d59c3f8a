import type { Command } from 'commander';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import { clientCommand, examples, tellAll, wholeNumber } from '../shared/commands.ts';
import { connect } from '../shared/connect.ts';
import { take } from '../shared/pages.ts';
import { isoTime } from '../terminal/iso-time.ts';
import { codeOf } from './show-webhook.ts';

interface Options extends ClientOptions {
  limit: number;
}

export function webhooksDeliveries(cli: Cli): Command {
  return clientCommand('deliveries', 'list what a webhook was told, newest first')
    .argument('<id>')
    .option('-n, --limit <n>', 'how many at most', wholeNumber('--limit', 1, 1_000_000), 20)
    .addHelpText('after', examples('wh_0199f3a2 --limit 50'))
    .action(async (webhook: string, options: Options) => {
      const client = connect(cli, options);
      const found = await take(options.limit, 100, (query) => client.webhooks.deliveries(webhook, query));
      tellAll(cli, options, found, {
        id: ({ id }) => id,
        event: ({ event }) => event.type,
        of: ({ event }) => event.data.id,
        status: ({ status }) => status,
        attempts: ({ attempts }) => String(attempts),
        answered: codeOf,
        next: ({ next_attempt_at: next }) => (next === null ? '' : isoTime(next)),
        error: (delivery) => delivery.last_error ?? '',
      });
    });
}
