import { Option } from 'commander';
import type { OperatorBatch } from '../../client/resources.ts';
import { showBatch } from '../batch/show-batch.ts';
import { asTable, fetchItems, group, limitOption, queryCommand, wholeNumber } from '../shared/commands.ts';
import { isoTime, waitingLabel } from '../shared/format.ts';
import type { Terminal } from '../terminal/terminal.ts';

interface Filters {
  limit: number;
  org?: string;
  model?: string;
  status?: string;
  waiting?: string;
  atRisk?: boolean;
  createdAfter?: string;
  createdBefore?: string;
}

const list = queryCommand({
  usage: 'list',
  about: 'list the batches of all orgs, newest first',
  isAdmin: true,
  options: [
    limitOption(20),
    new Option('--org <org>', 'only batches of this org (id or name)'),
    new Option('--model <model>', 'only batches with requests to this model'),
    new Option('--status <status>', 'only batches in this state'),
    new Option('--waiting <reason>', 'only batches that wait for this reason, or for any'),
    new Option('--at-risk', 'only batches at risk of missing their window'),
    new Option('--created-after <time>', 'only batches created at or after this time'),
    new Option('--created-before <time>', 'only batches created before this time'),
  ],
  examples: ['--waiting any', '--org search --status in_progress --json'],
  ask: ({ admin }, _, { limit, org, model, status, waiting, atRisk, createdAfter, createdBefore }: Filters) =>
    fetchItems(limit, 100, (page) =>
      admin.batches.list({
        ...page,
        org,
        model,
        status,
        waiting,
        at_risk: atRisk === true ? 'true' : undefined,
        created_after: createdAfter,
        created_before: createdBefore,
      }),
    ),
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

export const batches = group('batches', [
  list,
  one('get', 'show a batch of any org'),
  one('cancel', 'cancel a batch; finished results are kept'),
  one('pause', 'stop sending requests of a batch; its org can resume it'),
  one('resume', 'resume a paused batch'),
  one('retry', 'run the failed requests of a finished batch again, for its org'),
  update,
]);

function one(name: 'get' | 'cancel' | 'pause' | 'resume' | 'retry', about: string) {
  return queryCommand({
    usage: `${name} <id>`,
    about,
    isAdmin: true,
    examples: ['batch_0199f3a2'],
    ask: ({ admin }, id) => (name === 'get' ? admin.batches.get(id) : admin.batches.act(id, name)),
    show: showOperatorBatch,
  });
}

function showOperatorBatch(batch: OperatorBatch, terminal: Terminal): void {
  showBatch(batch, terminal);
  terminal.record([['org', batch.org ?? batch.org_id]]);
}
