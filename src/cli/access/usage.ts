import { Option } from 'commander';
import { pluralize } from '../../base/words.ts';
import type { Client } from '../../client/client.ts';
import { type ShownUsage, usageCells, usageColumns, usageCsv } from '../../wire/usage/report.ts';
import type { ClientOptions } from '../shared/cli.ts';
import { queryCommand } from '../shared/commands.ts';
import { hasOnlyAdminKey, needsAdminKey } from '../shared/connect.ts';
import { CliError } from '../shared/exit-codes.ts';

interface Asked {
  start?: string;
  end?: string;
  groupBy?: string;
  org?: string;
  all?: boolean;
  csv?: boolean;
}

export const usage = queryCommand({
  usage: 'usage',
  about: 'show usage and cost',
  isAdmin: ({ org, all, groupBy = '', ...options }: Asked & ClientOptions, cli) =>
    org !== undefined || all === true || groupBy.split(',').includes('org') || hasOnlyAdminKey(cli, options),
  options: [
    new Option('--start <day>', 'first day (UTC), such as 2026-11-01 (default: 30 days in total)'),
    new Option('--end <day>', 'last day (UTC), inclusive (default: today)'),
    new Option(
      '--group-by <groups>',
      'day, hour, model, org, key, endpoint, batch, tier or tag, separated by commas (default: day,model)',
    ),
    new Option('--org <org>', 'only this org, given by its id or name (admin key)').conflicts('all'),
    new Option('--all', 'all orgs (admin key), as without an API key and with --group-by org'),
    new Option('--csv', 'print CSV').conflicts('json'),
  ],
  examples: [
    '',
    '--start 2026-11-01 --end 2026-11-30 --group-by model',
    '--org search --group-by key,model --csv',
    '--all --group-by org',
  ],
  async ask(client, _, { start, end, groupBy, org, all, csv }: Asked) {
    const answer = await wholeUsage(client, { start, end, group_by: groupBy, org_id: org });
    if (all === true && answer.org_id)
      throw new CliError(`The key sees only the usage of its org, ${orgText(answer)}.`, needsAdminKey);
    return csv === true ? { ...answer, asCsv: true } : answer;
  },
  show(answer, terminal) {
    const { data, group_by: groups, total, start, end } = answer;
    const head = usageColumns(groups);
    const rows = usageCells(data, groups);
    if ('asCsv' in answer) return void terminal.stdout.write(usageCsv([head, ...rows]));
    const isTable = terminal.stdout.isTTY === true;
    terminal.table(
      head,
      rows.map((row) => row.map((cell) => shown(cell, isTable))),
    );
    if (!total) return;
    const scope = answer.org_id ? `Org ${orgText(answer)}` : 'All orgs';
    const sum = `${pluralize(total.requests, 'request')}, ${total.amount} USD`;
    terminal.note(`${scope}, from ${start} to ${end}: ${sum}.`);
  },
});

/** Cell as text. A table has no zeros, so that columns of nothing but zeros are left out. */
function shown(cell: string | number, isTable: boolean): string {
  return isTable && cell === 0 ? '' : String(cell);
}

/** Org of the report as `search (org_0199f3a2)`. */
function orgText({ org, org_id: id }: Pick<ShownUsage, 'org' | 'org_id'>): string {
  return org ? `${org} (${id})` : (id ?? '');
}

/** Usage with the rows of all pages. */
async function wholeUsage(client: Client, query: Record<string, string | undefined>): Promise<ShownUsage> {
  const whole = await client.usage(query);
  const { start, end, data } = whole;
  while (whole.has_more) {
    const page = await client.usage({ ...query, start, end, after: whole.last_id ?? '' });
    data.push(...page.data);
    Object.assign(whole, { last_id: page.last_id, has_more: page.has_more });
  }
  return whole;
}
