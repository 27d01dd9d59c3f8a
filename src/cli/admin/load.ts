import { Option, type Command } from 'commander';
import { formatDuration } from '../../base/duration.ts';
import type { RemoteQueue, RemoteRequest } from '../../client/resources.ts';
import type { Cli, ClientOptions } from '../shared/cli.ts';
import {
  asTable,
  clientCommand,
  examples,
  fetchItems,
  limitOption,
  queryCommand,
} from '../shared/commands.ts';
import { waitingLabel } from '../shared/format.ts';
import { connectAdmin } from '../shared/connect.ts';
import { printWatched, type WatchOptions } from '../shared/watch.ts';

export function queue(cli: Cli): Command {
  return clientCommand('queue', 'show the work that batches have left, by model', true)
    .option('--watch', 'update the table after each change, until Ctrl-C')
    .addHelpText('after', examples('', '--watch'))
    .action(async (options: ClientOptions & WatchOptions) => {
      const client = connectAdmin(cli, options);
      await printWatched(cli, options, async () => (await client.admin.queue()).data, showQueue);
    });
}

const showQueue = asTable<RemoteQueue>({
  model: ({ model }) => model,
  requests: ({ requests }) => String(requests),
  tokens: ({ tokens }) => String(tokens),
  time: ({ seconds }) => durationText(seconds),
  slack: ({ slack_seconds: slack }) => durationText(slack),
  slots: ({ in_use: used, slots }) => `${used}/${slots}`,
  waiting: ({ waiting }) => (waiting ? waitingLabel(waiting) : ''),
  found: ({ found }) => (found === null ? '' : String(found)),
  orgs: ({ orgs }) =>
    orgs
      .map(({ org, org_id: id, share, requests }) => `${org ?? id} ${Math.round(share * 100)}% (${requests})`)
      .join(', '),
});

/** `-` for an unknown time. */
function durationText(seconds: number | null): string {
  if (seconds === null) return '-';
  return `${seconds < 0 ? '-' : ''}${formatDuration(Math.abs(seconds) * 1000)}`;
}

interface Filters {
  limit: number;
  org?: string;
  model?: string;
  status?: string;
  keyId?: string;
}

export const requests = queryCommand({
  usage: 'requests',
  about: 'list the last single requests of the server process that answers, newest first',
  isAdmin: true,
  options: [
    limitOption(20),
    new Option('--org <org>', 'only requests of this org (id or name)'),
    new Option('--model <model>', 'only requests that this model answered'),
    new Option('--key-id <id>', 'only requests of this API key'),
    new Option('--status <status>', 'only requests with this HTTP status, class such as 5xx, or error'),
  ],
  examples: ['--status error', '--org search -n 100 --json'],
  ask: ({ admin }, _, { limit, org, model, keyId, status }: Filters) =>
    fetchItems(limit, 1_000, (page) => admin.requests({ ...page, org, model, key_id: keyId, status })),
  show: asTable<RemoteRequest>({
    id: ({ id }) => id,
    started: ({ started_at: at }) => at,
    org: ({ org, org_id: id }) => org ?? id,
    endpoint: ({ endpoint }) => endpoint,
    model: ({ model }) => model ?? '',
    status: ({ status, code }) => (code === null ? String(status) : `${status} ${code}`),
    ms: ({ ms }) => String(ms),
    queued: ({ queued_ms: ms }) => (ms === null ? '' : String(ms)),
    first: ({ first_ms: ms }) => (ms === null ? '' : String(ms)),
    input: ({ input_tokens: tokens }) => (tokens === null ? '' : String(tokens)),
    output: ({ output_tokens: tokens }) => (tokens === null ? '' : String(tokens)),
    server: ({ server }) => server ?? '',
    cost: ({ amount }) => amount ?? '',
    key: ({ key_id: key }) => key,
  }),
});
