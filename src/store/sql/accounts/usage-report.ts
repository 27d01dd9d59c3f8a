import { heavySlices } from '../../../base/loop-slices.ts';
import type { UsageColumns, UsagePart, UsageCursor, UsageQuery } from '../../../core/usage-report.ts';
import { figureNames, UsageSums } from '../../../core/usage-sums.ts';
import type { Db, Value } from '../../db.ts';
import { paddedSlices, tuples } from '../statement.ts';
import { conditions, type Where } from '../table.ts';
import { ledgerTable, matching, sumsTable, usageFields, type UsageTable } from './usage-columns.ts';
import { addUsageRow, readUsagePart, type UsageFields } from './usage-parts.ts';
import { scansOf } from './usage-scans.ts';

/** Groups that Postgres sends at a time. */
const groupsAtOnce = 500;

/** Sums of usage: in parts for SQLite, whole for Postgres. */
export async function sumUsage(db: Db, query: UsageQuery, from?: UsageCursor): Promise<UsagePart> {
  if (db.types.dialect === 'sqlite') return readUsagePart(db, query, from);
  return { columns: await sumWhole(db, query), next: null };
}

/**
 * Reads the sums of one statement, which is one snapshot, a few at a time, so that the event loop of this process has turns in between.
 */
async function sumWhole(db: Db, query: UsageQuery): Promise<UsageColumns[]> {
  const { groups, orgId } = query;
  const selects = selectsOf(db, query);
  const names = groups.map((group) => `"${group}"`).join(', ');
  return db.tx(async (q) => {
    const parts: UsageColumns[] = [];
    await q.all(
      `DECLARE sums NO SCROLL CURSOR FOR
       SELECT ${summed(groups)} FROM (${selects.map(({ sql }) => sql).join(' UNION ALL ')}) AS u
       ${names && `GROUP BY ${names}`} HAVING count(*) > 0`,
      selects.flatMap(({ params }) => params),
    );
    for (;;) {
      const rows = await q.all<UsageFields>(`FETCH ${groupsAtOnce} FROM sums`);
      const sums = new UsageSums();
      for (const row of rows) addUsageRow(sums, row, query);
      parts.push(sums.columns());
      if (rows.length < groupsAtOnce) return parts;
      await heavySlices.next(orgId);
    }
  });
}

/** Statements that select all rows of a query. */
function selectsOf(db: Db, query: UsageQuery): { sql: string; params: Value[] }[] {
  const { start, before, orgId } = query;
  const select = (table: UsageTable, where: Where) => {
    const condition = conditions({ ...where, 'org_id = ?': orgId, ...matching(table, query.filter) });
    const sql = `SELECT ${usageFields(table, query.groups)} FROM ${table.from} WHERE ${condition.sql}`;
    return { sql, params: condition.params };
  };
  const days = { 'day >= ?': start, 'day < ?': before };
  const scans = scansOf(query);
  if (!scans) {
    const ofAll = { 'org_id IN (SELECT id FROM orgs)': orgId === undefined ? [] : undefined };
    return [select(ledgerTable(db), { ...ofAll, ...days })];
  }
  const sums = scans.flatMap(({ level, spans }) =>
    paddedSlices(spans, 512).map((list) =>
      select(sumsTable, { level, [`span IN ${tuples(1, list.length)}`]: list }),
    ),
  );
  return [...sums, select(ledgerTable(db), { 'rolled_up < 2': [], ...days })];
}

/** Columns of sums by group. Casts, because sums of bigints are decimals in Postgres, and sums of money may exceed a number. */
function summed(groups: UsageQuery['groups']): string {
  return [
    ...groups.map((group) => `"${group}"`),
    ...figureNames.map((name) => `CAST(sum("${name}") AS bigint) AS "${name}"`),
    'CAST(sum(amount) AS text) AS amount',
  ].join(', ');
}
