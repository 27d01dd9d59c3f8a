import { Option } from 'commander';
import type { RemoteBudget, RemoteOrg } from '../../client/resources.ts';
import { queryCommand, group, asTable, requireChange } from '../shared/commands.ts';
import { CliError } from '../shared/exit-codes.ts';
import type { Terminal } from '../terminal/terminal.ts';

const budgetOption = new Option(
  '--budget <amount>',
  'what it may spend in USD: 50/month, 500 in all, or none',
);

interface Fields {
  name?: string;
  budget?: string;
}

const create = queryCommand({
  name: 'create',
  about: 'make an org',
  isAdmin: true,
  argument: '<name>',
  options: [budgetOption],
  examples: ['search', 'search --budget 50/month'],
  async ask({ orgs: remote }, name, { budget, json }: Fields & { json?: boolean }, { terminal }) {
    const org = await remote.create({ name, budget: readBudget(budget) });
    if (json === true) return org;
    // The org is made: whatever cannot be told of others, its id is shown.
    const { data } = await remote.list().catch(() => ({ data: [] }));
    const others = data.filter((other) => other.name === name && other.id !== org.id);
    if (others.length > 0)
      terminal.note(`There was one of this name already: ${others.map(({ id }) => id).join(', ')}.`);
    return org;
  },
  show: showOrg,
});

const list = queryCommand({
  name: 'list',
  about: 'list the orgs',
  isAdmin: true,
  examples: [''],
  ask: async (client) => (await client.orgs.list()).data,
  show: asTable<RemoteOrg>({
    id: ({ id }) => id,
    name: ({ name }) => name,
    budget: budgetText,
    created: (org) => org.created_at,
  }),
});

const update = queryCommand({
  name: 'update',
  about: 'change the name or the budget of an org',
  isAdmin: true,
  argument: '<id>',
  options: [new Option('--name <name>', 'to recognise it by'), budgetOption],
  examples: ['org_0199f3a2 --budget 50/month', 'org_0199f3a2 --budget none'],
  ask(client, id, { name, budget }: Fields) {
    requireChange({ name, budget }, '--name or --budget');
    return client.orgs.update(id, { name, budget: readBudget(budget) });
  },
  show: showOrg,
});

export const orgs = group('orgs', [create, list, update]);

function showOrg(org: RemoteOrg, terminal: Terminal): void {
  terminal.record([
    ['id', org.id],
    ['name', org.name],
    ['budget', budgetText(org) || 'none'],
  ]);
}

/** `50/month`, `500` or `none`, as the server takes it. */
export function readBudget(text: string | undefined): RemoteBudget | null | undefined {
  if (text === undefined) return undefined;
  if (text === 'none') return null;
  const [, amount, period = 'total'] = /^(\d+(?:\.\d{1,9})?)(?:\/(month|total))?$/.exec(text) ?? [];
  if (amount === undefined)
    throw new CliError(`--budget must be an amount of USD such as 50/month or 500, or none, not '${text}'.`);
  return { amount, period: period as RemoteBudget['period'] };
}

/** `12.5 of 50/month` */
export function budgetText({ budget }: RemoteOrg): string {
  if (!budget) return '';
  return `${budget.spent} of ${budget.amount}${budget.period === 'month' ? '/month' : ''}`;
}
