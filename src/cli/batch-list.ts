import type { Command } from 'commander';
import { clientCommand, connect, wholeNumber } from './cli.ts';
import type { Cli, ClientOptions } from './cli.ts';
import { take } from './pages.ts';

interface Options extends ClientOptions {
  limit: number;
  status?: string;
}

export function batchList(cli: Cli): Command {
  return clientCommand('list', 'list batches, newest first')
    .option('-n, --limit <n>', 'how many at most', wholeNumber('--limit', 1, 1_000_000), 20)
    .option('--status <status>', 'only those in this state')
    .action(async (options: Options) => {
      const client = connect(cli, options);
      const { status } = options;
      const batches = await take(options.limit, 100, (query) =>
        client.batches.list(status === undefined ? query : { ...query, status }),
      );
      if (options.json === true) return cli.terminal.json(batches);
      const rows = batches.map((batch) => [
        batch.id,
        batch.status,
        `${batch.request_counts.completed}/${batch.request_counts.total}`,
        String(batch.request_counts.failed),
        batch.model ?? '',
        batch.created_at,
        batch.cost?.amount ?? '',
        batch.waiting?.reason ?? '',
      ]);
      cli.terminal.table(
        ['id', 'status', 'completed', 'failed', 'model', 'created', 'cost', 'waiting'],
        rows,
      );
    });
}
