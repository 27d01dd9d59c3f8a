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

const nameOption = new Option('--name <name>', 'to recognise it by');
const eventsOption = new Option(
  '--events <type...>',
  'batch.completed, batch.failed, batch.expired, batch.cancelled, batch.at_risk (default: all)',
);
const idExample = { argument: '<id>', examples: ['wh_0199f3a2'] };

const create = queryCommand({
  name: 'create',
  about: 'have an endpoint told of events; its secret is shown this once',
  argument: '<url>',
  options: [nameOption, eventsOption],
  examples: ['https://example.com/offpeak --events batch.completed batch.failed'],
  ask: ({ webhooks: remote }, url, { name, events }: Fields) =>
    remote.create({ url, name, event_types: events }),
  show: showWebhook,
});

const list = queryCommand({
  name: 'list',
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
  name: 'update',
  about: 'change a webhook, or disable and enable it',
  argument: '<id>',
  options: [
    new Option('--to <url>', 'where it leads'),
    nameOption,
    eventsOption,
    new Option('--enable', 'tell it of events again'),
    new Option('--disable', 'tell it of nothing'),
  ],
  examples: ['wh_0199f3a2 --to https://example.com/other --enable'],
  ask({ webhooks: remote }, id, options: Fields & { to?: string; enable?: true; disable?: true }) {
    const { to, name, events, enable, disable } = options;
    if (enable && disable) throw new CliError('--enable and --disable cannot be given together.');
    const changes = { url: to, name, event_types: events, enabled: enable ?? (disable && false) };
    requireChange(changes, '--to, --name, --events, --enable or --disable');
    return remote.update(id, changes);
  },
  show: showWebhook,
});

const remove = queryCommand({
  name: 'delete',
  about: 'delete a webhook and its deliveries',
  ...idExample,
  ask: ({ webhooks: remote }, id) => remote.remove(id),
  show: ({ id }, terminal) => terminal.print(`Deleted ${id}.`),
});

const rotate = queryCommand({
  name: 'rotate',
  about: 'make a new secret; the one before signs, too, for 24 hours',
  ...idExample,
  ask: ({ webhooks: remote }, id) => remote.rotate(id),
  show: showWebhook,
});

const test = queryCommand({
  name: 'test',
  about: 'send a webhook an event of the type webhook.test, and tell how that went',
  ...idExample,
  ask: ({ webhooks: remote }, id) => remote.test(id),
  exitCodeOf: ({ status }) => (status === 'delivered' ? exitCodes.ok : exitCodes.usage),
  show: showDelivery,
});

const deliveries = queryCommand({
  name: 'deliveries',
  about: 'list what a webhook was told, newest first',
  argument: '<id>',
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
  name: 'replay',
  about: 'tell of the event of a delivery again, in a new one',
  argument: '<delivery>',
  examples: ['dlv_0199f3a2'],
  ask: ({ webhooks: remote }, id) => remote.replay(id),
  show: showDelivery,
});

export const webhooks = group('webhooks', [create, list, update, remove, rotate, test, deliveries, replay]);

/** A webhook; one with its secret says that this is shown once. */
function showWebhook(webhook: RemoteWebhook, terminal: Terminal): void {
  terminal.record([
    ['id', webhook.id],
    ['name', webhook.name],
    ['url', webhook.url],
    ['events', webhook.event_types.join(', ')],
    ['disabled', webhook.disabled_reason],
    ['secret', webhook.signing_secret],
  ]);
  if (webhook.signing_secret !== undefined) terminal.note('Keep the secret: it is not shown again.');
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

/** The status code of the receiver, where it answered. */
function codeOf({ last_status_code: code }: RemoteDelivery): string {
  return code === null ? '' : String(code);
}
