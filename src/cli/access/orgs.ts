import { Option } from 'commander';
import type { RemoteOrg } from '../../client/resources.ts';
import { weights } from '../../core/org.ts';
import type { LimitsBody } from '../../wire/admin/limits.ts';
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

const settings = [
  budgetOption,
  limitsOption,
  new Option('--weight <n>', 'share of the slots relative to other orgs (default: 1)').argParser(
    wholeNumber('--weight', weights.min, weights.max),
  ),
];

interface Fields {
  name?: string;
  budget?: string;
  limit?: LimitsBody;
  weight?: number;
}

const create = queryCommand({
  usage: 'create <name>',
  about: 'create an org',
  isAdmin: true,
  options: settings,
  examples: [
    'search',
    'search --budget 50/month',
    'search --limit open_batches=20 --limit requests_per_minute=600',
  ],
  async ask(
    { orgs: remote },
    name,
    { budget, limit, weight, json }: Fields & { json?: boolean },
    { terminal },
  ) {
    const org = await remote.create({ name, budget: readBudget(budget), limits: limit, weight });
    if (json === true) return org;
    // Not essential: the org exists, and its id must be shown.
    const { data } = await remote.list().catch(() => ({ data: [] }));
    const others = data.filter((other) => other.name === name && other.id !== org.id);
    if (others.length > 0)
      terminal.note(`Another org has the same name: ${others.map(({ id }) => id).join(', ')}.`);
    return org;
  },
  show: showOrg,
});

const list = queryCommand({
  usage: 'list',
  about: 'list the orgs',
  isAdmin: true,
  options: [wholeListOption],
  examples: ['', '-n 20'],
  ask: (client, _, { limit }: { limit: number }) =>
    fetchItems(limit, 1_000, (page) => client.orgs.list(page)),
  show: asTable<RemoteOrg>({
    id: ({ id }) => id,
    name: ({ name }) => name,
    state: ({ disabled }) => (disabled ? 'disabled' : ''),
    weight: ({ weight }) => String(weight),
    budget: ({ budget }) => budgetText(budget),
    limits: ({ limits }) => limitsText(limits),
    created: (org) => org.created_at,
  }),
});

const get = queryCommand({
  usage: 'get <org>',
  about: 'show an org',
  isAdmin: true,
  examples: ['search', 'org_0199f3a2'],
  ask: (client, org) => client.orgs.get(org),
  show: showOrg,
});

const update = queryCommand({
  usage: 'update <org>',
  about: 'change settings of an org, given by its id or name',
  isAdmin: true,
  options: [new Option('--name <name>', 'display name'), ...settings],
  examples: [
    'search --budget 50/month',
    'search --limit requests_per_minute=600 --limit queued_tokens.qwen3-32b=2000000',
    'search --budget none --limit requests_per_minute=none',
  ],
  ask(client, org, { name, budget, limit, weight }: Fields) {
    requireChange({ name, budget, limit, weight }, '--name, --budget, --limit or --weight');
    return client.orgs.update(org, { name, budget: readBudget(budget), limits: limit, weight });
  },
  show: showOrg,
});

const setDisabled = (usage: string, about: string, disabled: boolean) =>
  queryCommand({
    usage,
    about,
    isAdmin: true,
    examples: ['search', 'org_0199f3a2'],
    ask: (client, org) => client.orgs.update(org, { disabled }),
    show: showOrg,
  });

const disable = setDisabled(
  'disable <org>',
  'refuse the requests of an org, and make its batches wait',
  true,
);
const enable = setDisabled('enable <org>', 'enable a disabled org', false);

export const orgs = group('orgs', [create, list, get, update, disable, enable]);

function showOrg(org: RemoteOrg, terminal: Terminal): void {
  terminal.record([
    ['id', org.id],
    ['name', org.name],
    ['disabled', org.disabled_at],
    ['weight', String(org.weight)],
    ['limits', limitsText(org.limits) || 'none'],
    ['budget', budgetText(org.budget) || 'none'],
  ]);
}
