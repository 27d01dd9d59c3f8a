import { Option } from 'commander';
import type { RemoteDelivery, RemoteWebhook } from '../../client/resources.ts';
import { queryCommand, group, asTable, limitOption, requireChange, fetchItems } from '../shared/commands.ts';
import { CliError, exitCodes } from '../shared/exit-codes.ts';
import { isoTime } from '../shared/format.ts';
import type { Terminal } from '../terminal/terminal.ts';

interface Fields {
  name?: string;
  events?: string[];
}

const nameOption = new Option('--name <name>', 'display name');
const eventsOption = new Option(
  '--events <type...>',
  'batch.completed, batch.failed, batch.expired, batch.cancelled, batch.at_risk (default: all)',
);
const example = ['wh_0199f3a2'];

const create = queryCommand({
  usage: 'create <url>',
  about: 'subscribe an endpoint to events; its secret is shown only once',
  options: [nameOption, eventsOption],
  examples: ['https://example.com/offpeak --events batch.completed batch.failed'],
  ask: ({ webhooks: remote }, url, { name, events }: Fields) =>
    remote.create({ url, name, event_types: events }),
  show: showWebhook,
});

const list = queryCommand({
  usage: 'list',
  about: 'list the webhooks, newest first',
  examples: [''],
  ask: ({ webhooks: remote }) => fetchItems(Infinity, 100, (query) => remote.list(query)),
  show: asTable<RemoteWebhook>({
    id: ({ id }) => id,
    state: ({ enabled }) => (enabled ? 'enabled' : 'disabled'),
    url: ({ url }) => url,
    events: ({ event_types: types }) => types.join(' '),
    name: ({ name }) => name,
    why: (webhook) => webhook.disabled_reason ?? '',
  }),
});

const update = queryCommand({
  usage: 'update <id>',
  about: 'change a webhook, or disable and enable it',
  options: [
    new Option('--to <url>', 'new URL'),
    nameOption,
    eventsOption,
    new Option('--enable', 'send events again'),
    new Option('--disable', 'send no more events'),
  ],
  examples: ['wh_0199f3a2 --to https://example.com/other --enable'],
  ask({ webhooks: remote }, id, options: Fields & { to?: string; enable?: true; disable?: true }) {
    const { to, name, events, enable, disable } = options;
    if (enable && disable) throw new CliError('--enable and --disable cannot be combined.');
    const changes = { url: to, name, event_types: events, enabled: enable ?? (disable && false) };
    requireChange(changes, '--to, --name, --events, --enable or --disable');
    return remote.update(id, changes);
  },
  show: showWebhook,
});

const remove = queryCommand({
  usage: 'delete <id>',
  about: 'delete a webhook and its deliveries',
  examples: example,
  ask: ({ webhooks: remote }, id) => remote.remove(id),
  show: ({ id }, terminal) => terminal.print(`Deleted ${id}.`),
});

const rotate = queryCommand({
  usage: 'rotate <id>',
  about: 'create a new secret; the old one keeps signing, too, for 24 hours',
  examples: example,
  ask: ({ webhooks: remote }, id) => remote.rotate(id),
  show: showWebhook,
});

const test = queryCommand({
  usage: 'test <id>',
  about: 'send a webhook.test event and show the result',
  examples: example,
  ask: ({ webhooks: remote }, id) => remote.test(id),
  exitCodeOf: ({ status }) => (status === 'delivered' ? exitCodes.ok : exitCodes.usage),
  show: showDelivery,
});

const deliveries = queryCommand({
  usage: 'deliveries <id>',
  about: 'list the deliveries of a webhook, newest first',
  options: [limitOption(20)],
  examples: ['wh_0199f3a2 --limit 50'],
  ask: ({ webhooks: remote }, id, { limit }: { limit: number }) =>
    fetchItems(limit, 100, (query) => remote.deliveries(id, query)),
  show: asTable<RemoteDelivery>({
    id: ({ id }) => id,
    event: ({ event }) => event.type,
    of: ({ event }) => event.data.id,
    status: ({ status }) => status,
    attempts: ({ attempts }) => String(attempts),
    answered: codeOf,
    next: ({ next_attempt_at: next }) => (next === null ? '' : isoTime(next)),
    error: (delivery) => delivery.last_error ?? '',
  }),
});

const replay = queryCommand({
  usage: 'replay <delivery>',
  about: 'send the event of a delivery again, in a new delivery',
  examples: ['dlv_0199f3a2'],
  ask: ({ webhooks: remote }, id) => remote.replay(id),
  show: showDelivery,
});

export const webhooks = group('webhooks', [create, list, update, remove, rotate, test, deliveries, replay]);

function showWebhook(webhook: RemoteWebhook, terminal: Terminal): void {
  terminal.record([
    ['id', webhook.id],
    ['name', webhook.name],
    ['url', webhook.url],
    ['events', webhook.event_types.join(', ')],
    ['disabled', webhook.disabled_reason],
    ['secret', webhook.signing_secret],
  ]);
  if (webhook.signing_secret !== undefined) terminal.note('Save the secret now: it cannot be shown again.');
}

function showDelivery(delivery: RemoteDelivery, terminal: Terminal): void {
  terminal.record([
    ['id', delivery.id],
    ['event', `${delivery.event.type} ${delivery.event.data.id}`],
    ['webhook-id', delivery.event.id],
    ['status', delivery.status],
    ['answered', codeOf(delivery)],
    ['error', delivery.last_error],
  ]);
}

function codeOf({ last_status_code: code }: RemoteDelivery): string {
  return code === null ? '' : String(code);
}
