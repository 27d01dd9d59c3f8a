import { heavySlices } from '../../base/loop-slices.ts';
import { type PageSlices, slicesOf } from '../../base/page-slices.ts';
import type { UsageQuery, UsageRow } from '../../core/usage-report.ts';
import {
  type NamedReport,
  parseUsageQuery,
  presentColumns,
  presentUsageRow,
  presentUsageTotals,
  usageCells,
  usageColumns,
  usageCsv,
  usageRowId,
} from '../../wire/usage/report.ts';
import { bytes } from '../answer/answer.ts';
import { listAnswer } from '../answer/list-answer.ts';
import { usageSchema } from '../openapi/usage-schemas.ts';
import { usageQuery } from '../openapi/query-schemas.ts';
import { defineRoutes } from './define-routes.ts';

/** Rows that are presented in one turn of the event loop: some tenths of a millisecond. */
const sliceRows = 100;

export const usageRoutes = defineRoutes({ access: 'usage', tag: 'Usage' }, [
  {
    on: 'GET /v1/usage',
    name: 'Get Usage',
    summary: 'Get the usage and cost of the org by day and model, or of all orgs with an admin key',
    query: usageQuery,
    strictQuery: true,
    answer: usageSchema,
    orType: 'text/csv',
    async handle({ caller, query, headers, signal }, { accounts, clock }) {
      const asked = parseUsageQuery(query, clock.now());
      const report = await accounts.usage(caller, asked, signal);
      const { rows, hasMore } = report;
      const slices = slicesOf(rows, hasMore, sliceRows);
      const owner = caller.orgId;
      if (!/\btext\/csv\b/i.test(headers.accept ?? ''))
        return listAnswer(slices, {
          present: (row) => presentUsageRow(row, asked.groups, report.names),
          owner,
          more: presentUsageTotals(report, asked),
        });
      const [last] = rows.slice(-1);
      return bytes(csvText(slices, { groups: asked.groups, names: report.names, owner }), {
        'content-type': 'text/csv; charset=utf-8',
        'x-incomplete': String(hasMore),
        ...(last && { 'x-last-id': usageRowId(last) }),
      });
    },
  },
]);

interface CsvOptions extends Pick<NamedReport, 'names'> {
  groups: UsageQuery['groups'];
  owner: string;
}

async function* csvText(
  slices: PageSlices<UsageRow>,
  { groups, names, owner }: CsvOptions,
): AsyncGenerator<Uint8Array> {
  yield Buffer.from(usageCsv([usageColumns(groups)]));
  for await (const rows of slices) {
    await heavySlices.next(owner);
    const shown = rows.map((row) => presentColumns(row, groups, names));
    yield Buffer.from(usageCsv(usageCells(shown, groups)));
  }
}
