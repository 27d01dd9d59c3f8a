import { Option } from 'commander';
import { pluralize } from '../../base/words.ts';
import type { Client } from '../../client/client.ts';
import { type ShownUsage, usageCsv, usageTable } from '../../wire/usage/report.ts';
import { queryCommand } from '../shared/commands.ts';

interface Asked {
  start?: string;
  end?: string;
  groupBy?: string;
  org?: string;
  csv?: boolean;
}

export const usage = queryCommand({
  usage: 'usage',
  about: 'show usage and cost',
  isAdmin: ({ org, groupBy = '' }: Asked) => org !== undefined || groupBy.split(',').includes('org'),
  options: [
    new Option('--start <day>', 'first day (UTC), such as 2026-11-01 (default: 30 days in total)'),
    new Option('--end <day>', 'last day (UTC), inclusive (default: today)'),
    new Option(
      '--group-by <groups>',
      'day, hour, model, org, key, endpoint, batch or tag, separated by commas (default: day,model)',
    ),
    new Option('--org <id>', 'only this org; requires an admin key, as does --group-by org'),
    new Option('--csv', 'print CSV').conflicts('json'),
  ],
  examples: ['', '--start 2026-11-01 --end 2026-11-30 --group-by model', '--group-by key,model --csv'],
  async ask(client, _, { start, end, groupBy, org, csv }: Asked) {
    const answer = await wholeUsage(client, { start, end, group_by: groupBy, org_id: org });
    return csv === true ? { ...answer, asCsv: true } : answer;
  },
  show(answer, terminal) {
    if ('asCsv' in answer) return void terminal.stdout.write(usageCsv(answer));
    const [head = [], ...rows] = usageTable(answer).map((row) => row.map(String));
    terminal.table(head, rows);
    const { total, start, end } = answer;
    if (total)
      terminal.note(`From ${start} to ${end}: ${pluralize(total.requests, 'request')}, ${total.amount} USD.`);
  },
});

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
