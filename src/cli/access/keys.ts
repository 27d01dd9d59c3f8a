import { Option } from 'commander';
import { dayMs, isoSeconds } from '../../base/clock.ts';
import type { RemoteKey } from '../../client/resources.ts';
import { priorities } from '../../core/limits.ts';
import { serviceTiers } from '../../core/service-tier.ts';
import type { LimitsBody } from '../../wire/admin/limits.ts';
import { parseInstant } from '../../wire/shared/instant.ts';
import { CliError } from '../shared/exit-codes.ts';
import {
  queryCommand,
  group,
  asTable,
  fetchItems,
  requireChange,
  wholeListOption,
  wholeNumber,
} from '../shared/commands.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { budgetOption, budgetText, readBudget } from './budget.ts';
import { limitsOption, limitsText } from './settings.ts';

interface Fields {
  name?: string;
  scopes?: string[];
  models?: string[];
  expires?: string;
  limit?: LimitsBody;
  budget?: string;
  priority?: number;
  serviceTier?: string;
}

const settings = [
  new Option('--name <name>', 'display name'),
  new Option(
    '--scopes <scope...>',
    'inference, batches, files, usage, admin (new keys: all but admin); batches:read, files:read and admin:read only read',
  ),
  new Option('--models <id...>', 'models that the key may use, or all (new keys: all)'),
  new Option(
    '--expires <time>',
    'expiry: the last day (UTC) such as 2027-01-31, a time such as 2027-01-31T09:00:00Z, or never (new keys: never)',
  ).argParser(readExpiry),
  limitsOption,
  budgetOption,
  new Option('--priority <n>', 'highest priority of its batches (new keys: 9)').argParser(
    wholeNumber('--priority', priorities.min, priorities.max),
  ),
  new Option(
    '--service-tier <tier>',
    'tier of its single requests that name none: flex (batch price), default or none (new keys: none)',
  ).choices([...serviceTiers, 'none']),
];

const create = queryCommand({
  usage: 'create',
  about: 'create an API key, which is shown only once',
  isAdmin: true,
  options: [new Option('--org <org>', 'id or name of the org of the key').makeOptionMandatory(), ...settings],
  examples: [
    '--org search --name ci --scopes batches files',
    '--org search --models qwen3-32b --expires 2027-01-31',
    '--org search --budget 5/month',
  ],
  ask: (client, _, { org, ...fields }: Fields & { org: string }) =>
    client.keys.create({ org_id: org, ...toBody(fields) }),
  show: showNewKey,
});

const list = queryCommand({
  usage: 'list',
  about: 'list the API keys',
  isAdmin: true,
  options: [
    wholeListOption,
    new Option('--org <org>', 'list only keys of this org, given by its id or name'),
  ],
  examples: ['--org search', '-n 20'],
  ask: (client, _, { limit, org }: { limit: number; org?: string }) =>
    fetchItems(limit, 1_000, (page) => client.keys.list({ ...page, org_id: org })),
  show: asTable<RemoteKey>({
    id: ({ id }) => id,
    org: ({ org, org_id: id }) => org || id,
    key: ({ prefix }) => prefix,
    scopes: ({ scopes }) => scopes.join(' '),
    ends: stateText,
    'last used': (key) => key.last_used_at ?? 'never used',
    name: ({ name }) => name,
    models: ({ models }) => models?.join(' ') ?? '',
    limits: ({ limits }) => limitsText(limits),
    budget: ({ budget }) => budgetText(budget),
  }),
});

const get = queryCommand({
  usage: 'get <id>',
  about: 'show an API key, without its secret',
  isAdmin: true,
  examples: ['key_0199f3a2'],
  ask: (client, id) => client.keys.get(id),
  show: showKey,
});

const update = queryCommand({
  usage: 'update <id>',
  about: 'change settings of an API key',
  isAdmin: true,
  options: settings,
  examples: [
    'key_0199f3a2 --limit requests_per_minute=100 --budget 5/month',
    'key_0199f3a2 --models all --expires never --budget none',
  ],
  ask(client, id, fields: Fields) {
    const body = toBody(fields);
    requireChange(
      body,
      '--name, --scopes, --models, --expires, --limit, --budget, --priority or --service-tier',
    );
    return client.keys.update(id, body);
  },
  show: showKey,
});

const rotate = queryCommand({
  usage: 'rotate <id>',
  about: 'create a key with the same settings, which is shown only once, and end the old one',
  isAdmin: true,
  options: [
    new Option('--overlap <seconds>', 'time for which the old key still works, up to 2592000 (30 days)')
      .argParser(wholeNumber('--overlap', 0, 2_592_000))
      .default(0),
  ],
  examples: ['key_0199f3a2', 'key_0199f3a2 --overlap 86400'],
  ask: (client, id, { overlap }: { overlap: number }) => client.keys.rotate(id, overlap),
  show(rotation, terminal) {
    showNewKey(rotation, terminal);
    const { id, revoked_at: revokedAt, expires_at: expiresAt } = rotation.old_key;
    terminal.note(
      revokedAt === null ? `The old key ${id} works until ${expiresAt}.` : `The old key ${id} is revoked.`,
    );
  },
});

const setDisabled = (usage: string, about: string, disabled: boolean) =>
  queryCommand({
    usage,
    about,
    isAdmin: true,
    examples: ['key_0199f3a2'],
    ask: (client, id) => client.keys.update(id, { disabled }),
    show: showKey,
  });

const disable = setDisabled('disable <id>', 'refuse the requests of an API key until it is enabled', true);
const enable = setDisabled('enable <id>', 'enable a disabled API key', false);

const revoke = queryCommand({
  usage: 'revoke <id>',
  about: 'revoke an API key, which takes effect within a second',
  isAdmin: true,
  examples: ['key_0199f3a2'],
  ask: (client, id) => client.keys.revoke(id),
  show: ({ id }, terminal) => terminal.print(`Revoked ${id}.`),
});

export const keys = group('keys', [create, list, get, update, rotate, disable, enable, revoke]);

function toBody({ name, scopes, models, expires, limit, budget, priority, serviceTier }: Fields) {
  return {
    name,
    scopes,
    models: models?.length === 1 && models[0] === 'all' ? null : models,
    expires_at: expires === 'never' ? null : expires,
    limits: limit,
    budget: readBudget(budget),
    priority,
    service_tier: serviceTier === 'none' ? null : serviceTier,
  };
}

/** Reads a day as its end. Other forms are for the server to check. */
function readExpiry(text: string): string {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return text;
  const start = parseInstant(`${text}T00:00:00Z`);
  if (start === undefined) throw new CliError(`--expires ${text}: there is no such day.`);
  return isoSeconds(start + dayMs);
}

/** Reason why the key does not work, or the time at which it ends. */
function stateText(key: RemoteKey): string {
  if (key.revoked_at) return 'revoked';
  return key.disabled ? 'disabled' : (key.expires_at ?? '');
}

function showKey(key: RemoteKey, terminal: Terminal): void {
  terminal.record([
    ['id', key.id],
    ['org', key.org ? `${key.org} (${key.org_id})` : key.org_id],
    ['name', key.name],
    ['scopes', key.scopes.join(', ')],
    ['models', key.models?.join(', ')],
    ['limits', limitsText(key.limits)],
    ['budget', budgetText(key.budget)],
    ['priority', String(key.priority)],
    ['service tier', key.service_tier ?? undefined],
    ['ends', stateText(key)],
    ['replaced by', key.replaced_by ?? undefined],
    ['key', key.key],
  ]);
}

function showNewKey(key: RemoteKey, terminal: Terminal): void {
  showKey(key, terminal);
  terminal.note('Save the key now: it cannot be shown again.');
}
