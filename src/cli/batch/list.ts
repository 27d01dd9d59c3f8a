import type { Command } from 'commander';
import { sleep } from '../../base/clock.ts';
import type { RemoteBatch } from '../../client/resources.ts';
import { isoTime } from '../terminal/iso-time.ts';
import { waitingWord } from '../shared/waiting.ts';
import { clientCommand, wholeNumber } from '../shared/commands.ts';
import { connect } from '../shared/connect.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import { take } from '../shared/pages.ts';

interface Options extends ClientOptions {
  limit: number;
  status?: string;
  watch?: boolean;
}

const watchMs = 2_000;
const head = ['id', 'status', 'completed', 'failed', 'model', 'created', 'cost', 'waiting'];
/** Home, and nothing below it. */
const clearScreen = '\u001b[H\u001b[J';

export function batchList(cli: Cli): Command {
  return clientCommand('list', 'list batches, newest first')
    .option('-n, --limit <n>', 'how many at most', wholeNumber('--limit', 1, 1_000_000), 20)
    .option('--status <status>', 'only those in this state')
    .option('--watch', 'show them again whenever something has changed, until Ctrl-C')
    .action(async (options: Options) => {
      const { terminal, clock } = cli;
      const stop = new AbortController();
      const release = options.watch === true ? cli.onInterrupt(() => stop.abort()) : () => {};
      try {
        for (let shown = ''; ; await sleep(clock, watchMs, stop.signal)) {
          if (stop.signal.aborted) return;
          const batches = await list(cli, options);
          const rows = batches.map(rowOf);
          const now = JSON.stringify(rows);
          if (now !== shown) {
            if (options.watch === true && terminal.stdout.isTTY === true) terminal.stdout.write(clearScreen);
            if (options.json === true) terminal.json(batches);
            else terminal.table(head, rows);
          }
          shown = now;
          if (options.watch !== true) return;
        }
      } finally {
        release();
      }
    });
}

function list(cli: Cli, { limit, status, ...options }: Options): Promise<RemoteBatch[]> {
  const client = connect(cli, options);
  return take(limit, 100, (query) =>
    client.batches.list(status === undefined ? query : { ...query, status }),
  );
}

function rowOf(batch: RemoteBatch): string[] {
  const { request_counts: counts, waiting, progress } = batch;
  const notes = [
    waiting && waitingWord(waiting, progress?.batches_ahead),
    batch.at_risk === true && 'at risk',
  ];
  return [
    batch.id,
    batch.status,
    `${counts.completed}/${counts.total}`,
    String(counts.failed),
    batch.model ?? '',
    isoTime(batch.created_at),
    batch.cost?.amount ?? '',
    notes.filter(Boolean).join('; '),
  ];
}
