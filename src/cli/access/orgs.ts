import { Option } from 'commander';
import type { RemoteBudget, RemoteOrg } from '../../client/resources.ts';
import { queryCommand, group, asTable, requireChange } from '../shared/commands.ts';
import { CliError } from '../shared/exit-codes.ts';
import type { Terminal } from '../terminal/terminal.ts';

const budgetOption = new Option('--budget <amount>', 'budget in USD: 50/month, 500 in total, or none');

interface Fields {
  name?: string;
  budget?: string;
}

const create = queryCommand({
  usage: 'create <name>',
  about: 'create an org',
  isAdmin: true,
  options: [budgetOption],
  examples: ['search', 'search --budget 50/month'],
  async ask({ orgs: remote }, name, { budget, json }: Fields & { json?: boolean }, { terminal }) {
    const org = await remote.create({ name, budget: readBudget(budget) });
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
  usage: 'update <id>',
  about: 'change the name or the budget of an org',
  isAdmin: true,
  options: [new Option('--name <name>', 'display name'), budgetOption],
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

/** Parses `50/month`, `500` or `none` (null). */
export function readBudget(text: string | undefined): RemoteBudget | null | undefined {
  if (text === undefined) return undefined;
  if (text === 'none') return null;
  const [, amount, period = 'total'] = /^(\d+(?:\.\d{1,9})?)(?:\/(month|total))?$/.exec(text) ?? [];
  if (amount === undefined)
    throw new CliError(`--budget must be an amount in USD such as 50/month or 500, or none, not '${text}'.`);
  return { amount, period: period as RemoteBudget['period'] };
}

/** Budget as `12.5 of 50/month`, or ''. */
export function budgetText({ budget }: RemoteOrg): string {
  if (!budget) return '';
  return `${budget.spent} of ${budget.amount}${budget.period === 'month' ? '/month' : ''}`;
}
