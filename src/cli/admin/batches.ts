import { type Command, Option } from 'commander';
import type { OperatorBatch } from '../../client/resources.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import { batchLine, batchLines } from '../batch/lines.ts';
import { batchAct } from '../batch/act.ts';
import { batchRetry } from '../batch/retry.ts';
import { showOperatorBatch } from '../batch/show-batch.ts';
import { type BatchFilters, batchFilterOptions, filterQuery } from '../shared/batch-filters.ts';
import {
  asTable,
  clientCommand,
  examples,
  fetchItems,
  group,
  limitOption,
  pagesOf,
  queryCommand,
  wholeNumber,
} from '../shared/commands.ts';
import { connectAdmin } from '../shared/connect.ts';
import { isoTime, waitingLabel } from '../shared/format.ts';

interface Filters extends BatchFilters {
  limit: number;
  org?: string;
}

const list = queryCommand({
  usage: 'list',
  about: 'list the batches of all orgs, newest first',
  isAdmin: true,
  options: [
    limitOption(20),
    new Option('--org <org>', 'only batches of this org (id or name)'),
    ...batchFilterOptions(),
  ],
  examples: ['--waiting any', '--org search --status in_progress --json'],
  ask: ({ admin }, _, { limit, org, ...filters }: Filters) =>
    fetchItems(limit, 100, (page) => admin.batches.list({ ...page, org, ...filterQuery(filters) })),
  show: asTable<OperatorBatch>({
    id: ({ id }) => id,
    org: ({ org, org_id: id }) => org ?? id,
    status: ({ status }) => status,
    completed: ({ request_counts: counts }) => `${counts.completed}/${counts.total}`,
    failed: ({ request_counts: counts }) => String(counts.failed),
    model: ({ model }) => model ?? '',
    priority: ({ priority }) => String(priority),
    created: (batch) => isoTime(batch.created_at),
    waiting: ({ waiting, progress, at_risk: isAtRisk }) =>
      [waiting && waitingLabel(waiting, progress?.batches_ahead), isAtRisk === true && 'at risk']
        .filter(Boolean)
        .join('; '),
    expected: ({ progress }) => (progress?.eta ? isoTime(progress.eta) : ''),
  }),
});

const update = queryCommand({
  usage: 'update <id>',
  about: 'change the priority of a batch within its org',
  isAdmin: true,
  options: [
    new Option('--priority <n>', '0 to 9; higher runs first')
      .argParser(wholeNumber('--priority', 0, 9))
      .makeOptionMandatory(),
  ],
  examples: ['batch_0199f3a2 --priority 9'],
  ask: ({ admin }, id, { priority }: { priority: number }) => admin.batches.update(id, { priority }),
  show: showOperatorBatch,
});

/** Batches that one request reads. */
const pageSize = 100;

/** Unlike the list, it holds one page at a time. */
function exportBatches(cli: Cli): Command {
  const command = clientCommand('export', 'print batches with their costs as JSON lines, oldest first', true)
    .option('--org <org>', 'only batches of this org (id or name)')
    .option('--after <id>', 'continue after this batch, the last one of an earlier export');
  for (const option of batchFilterOptions()) command.addOption(option);
  return command
    .addHelpText('after', examples('--created-before 2026-01-01 > batches-2025.jsonl'))
    .action(async (options: ClientOptions & BatchFilters & { org?: string; after?: string }) => {
      const { admin } = connectAdmin(cli, options);
      const query = { limit: pageSize, order: 'asc', org: options.org, ...filterQuery(options) };
      const pages = pagesOf((after) => admin.batches.list({ ...query, after }), options.after);
      for await (const { data } of pages) for (const batch of data) cli.terminal.json(batch);
    });
}

export const batches = group('batches', [
  list,
  exportBatches,
  one('get', 'show a batch of any org'),
  one('cancel', 'cancel a batch; finished results are kept'),
  one('pause', 'stop sending requests of a batch; its org can resume it'),
  one('resume', 'resume a paused batch'),
  batchRetry(true),
  batchAct(true),
  update,
  batchLines(true),
  batchLine(true),
]);

function one(name: 'get' | 'cancel' | 'pause' | 'resume', about: string) {
  return queryCommand({
    usage: `${name} <id>`,
    about,
    isAdmin: true,
    examples: ['batch_0199f3a2'],
    ask: ({ admin }, id) => (name === 'get' ? admin.batches.get(id) : admin.batches.act(id, name)),
    show: showOperatorBatch,
  });
}
