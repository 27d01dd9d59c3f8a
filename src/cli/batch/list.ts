import type { Command } from 'commander';
import type { Client } from '../../client/client.ts';
import { ClientError, Unreachable } from '../../client/errors.ts';
import type { RemoteBatch } from '../../client/resources.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import { type BatchFilters, batchFilterOptions, filterQuery } from '../shared/batch-filters.ts';
import { clientCommand, examples, asTable, limitOption, fetchItems } from '../shared/commands.ts';
import { connect } from '../shared/connect.ts';
import { waitingLabel, isoTime } from '../shared/format.ts';
import { printWatched } from '../shared/watch.ts';

interface Options extends ClientOptions, BatchFilters {
  limit: number;
  all?: boolean;
  watch?: boolean;
}

/** Pages of files, of 1,000 each, that are searched for names. */
const maxPages = 2;

export function batchList(cli: Cli): Command {
  const command = clientCommand('list', 'list batches, newest first')
    .addOption(limitOption(20))
    .option('--all', 'list all batches');
  for (const option of batchFilterOptions()) command.addOption(option);
  return command
    .option('--watch', 'update the list after each change, until Ctrl-C')
    .addHelpText('after', examples('--status in_progress --watch', '--search "nightly eval"', '--all --json'))
    .action(async (options: Options) => {
      const client = connect(cli, options);
      const names = new Map<string, string>();
      const cells = Object.values(columns(names));
      const ask = async () => {
        const count = options.all === true ? Infinity : options.limit;
        const batches = await fetchItems(count, 100, (query) =>
          client.batches.list({ ...query, ...filterQuery(options) }),
        );
        if (options.json !== true) await fetchFilenames(client, batches, names);
        return batches;
      };
      await printWatched(cli, options, ask, asTable(columns(names)), (batches) =>
        batches.map((batch) => cells.map((cell) => cell(batch))),
      );
    });
}

/**
 * Adds the input file names of batches to `names`, from the newest files of the org. Optional: a file may be deleted, or
 * the key may lack the scope.
 */
async function fetchFilenames(client: Client, batches: readonly RemoteBatch[], names: Map<string, string>) {
  const wanted = new Set(batches.map((batch) => batch.input_file_id).filter((id) => !names.has(id)));
  for (const id of wanted) names.set(id, '');
  try {
    let after: string | undefined;
    for (let pages = 0; wanted.size > 0 && pages < maxPages; pages++) {
      const page = await client.files.list({ purpose: 'batch', limit: 1000, after });
      for (const { id, filename } of page.data) if (wanted.delete(id)) names.set(id, filename);
      after = page.data.at(-1)?.id;
      if (!page.has_more || after === undefined) return;
    }
  } catch (error) {
    if (!(error instanceof ClientError || error instanceof Unreachable)) throw error;
  }
}

/** Columns of the list. Scripts rely on their order: add new ones at the end. */
function columns(names: ReadonlyMap<string, string>): Record<string, (batch: RemoteBatch) => string> {
  return {
    id: ({ id }) => id,
    status: ({ status }) => status,
    completed: ({ request_counts: counts }) => `${counts.completed}/${counts.total}`,
    failed: ({ request_counts: counts }) => String(counts.failed),
    model: ({ model }) => model ?? '',
    created: (batch) => isoTime(batch.created_at),
    cost: ({ cost }) => cost?.amount ?? '',
    waiting: ({ waiting, progress, at_risk: isAtRisk }) =>
      [waiting && waitingLabel(waiting, progress?.batches_ahead), isAtRisk === true && 'at risk']
        .filter(Boolean)
        .join('; '),
    expected: ({ progress }) => (progress?.eta ? isoTime(progress.eta) : ''),
    file: (batch) => names.get(batch.input_file_id) ?? '',
    metadata: ({ metadata }) =>
      Object.entries(metadata ?? {})
        .map(([key, value]) => `${key}=${String(value)}`)
        .join(' '),
  };
}
