import type { UsageCursor, UsageGroup, UsagePart, UsageQuery } from '../../../core/usage-report.ts';
import { type figureNames, groupKey, UsageSums } from '../../../core/usage-sums.ts';
import type { Db } from '../../db.ts';
import { tuples } from '../statement.ts';
import { conditions, type Where } from '../table.ts';
import { ledgerTable, matching, sumsTable, usageFields, type UsageTable } from './usage-columns.ts';
import { scansOf } from './usage-scans.ts';

/** Groups, figures and amount of a row or a sum. */
export type UsageFields = Record<UsageGroup, string> &
  Record<(typeof figureNames)[number], number> & { amount: string };

export function addUsageRow(sums: UsageSums, row: UsageFields, { groups }: UsageQuery): void {
  sums.addRow(groupKey(groups.map((group) => row[group])), row, BigInt(row.amount));
}

/** Rows per part in SQLite, whose thread serves everything: about a millisecond. */
const rowsAtOnce = 250;
/** Rows that a statement counts for. */
const statementRows = 20;

/** Rows of one statement, and where the next one begins; null after the last one. */
interface Step {
  rows: (UsageFields & { isAsked: number })[];
  next: UsageCursor | null;
}
type ReadStep = (at: UsageCursor, limit: number) => Promise<Step>;

/** Reads a few rows of the usage. */
export async function readUsagePart(db: Db, query: UsageQuery, from: UsageCursor = []): Promise<UsagePart> {
  const sums = new UsageSums();
  const read = stepsOfSums(db, query) ?? stepsOfLedger(db, query);
  let at: UsageCursor | null = from;
  for (let left = rowsAtOnce; at !== null;) {
    if (left <= 0) return { columns: [sums.columns()], next: at };
    const { rows, next }: Step = await read(at, left);
    // Rows that the filter excludes are read too, because they count for the part. Groups are added up here, which takes half the time.
    for (const row of rows) if (row.isAsked) addUsageRow(sums, row, query);
    left -= rows.length + statementRows;
    at = next;
  }
  return { columns: [sums.columns()], next: null };
}

/** Reads the sums of one day or month after another, and then the ledger rows that are not in them. Null if sums lack the groups. */
function stepsOfSums(db: Db, query: UsageQuery): ReadStep | null {
  const spans = scansOf(query)?.flatMap((scan) => scan.spans.map((span) => ({ level: scan.level, span })));
  if (!spans) return null;
  return async ([place = 0, ...after], limit) => {
    const n = Number(place);
    const following = (step: Step): Step => ({ ...step, next: step.next && [n, ...step.next] });
    if (n === spans.length)
      return following(await readDays(db, query, { 'rolled_up < 2': [] }, after, limit));
    const step = await readSpan(db, query, spans[n]!, after, limit);
    return step.next ? following(step) : { ...step, next: [n + 1] };
  };
}

/** Reads the ledger of one org after another. */
function stepsOfLedger(db: Db, query: UsageQuery): ReadStep {
  const { orgId } = query;
  const nextOrg = async (org: string) =>
    (await db.all<{ id: string | null }>('SELECT min(id) AS id FROM orgs WHERE id > ?', [org]))[0]!.id;
  return async ([from, ...after], limit) => {
    const org = from ?? orgId ?? (await nextOrg(''));
    if (org === null) return { rows: [], next: null };
    const { rows, next } = await readDays(db, query, { 'org_id = ?': org }, after, limit);
    if (next) return { rows, next: [org, ...next] };
    const following = orgId === undefined ? await nextOrg(String(org)) : null;
    return { rows, next: following === null ? null : [following] };
  };
}

/** Columns of the sums of a day or month, in the order of their index. */
const sumOrder = ['org_id', 'model', 'key_id', 'endpoint', 'tag', 'tier'] as const;

/** Reads sums of one day or month, after the given ones. */
async function readSpan(
  db: Db,
  query: UsageQuery,
  { level, span }: { level: string; span: string },
  after: UsageCursor,
  limit: number,
): Promise<Step> {
  const order = sumOrder.filter((name) => name !== 'org_id' || query.orgId === undefined);
  const where = {
    level,
    span,
    'org_id = ?': query.orgId,
    ...(after.length > 0 && { [`(${order.join(', ')}) > ${tuples(1, order.length)}`]: after }),
  };
  const places = order.map((name) => `${name} AS "at_${name}"`);
  const read = { table: sumsTable, where, places, order, limit };
  const rows = await readRows<Record<`at_${(typeof sumOrder)[number]}`, string>>(db, query, read);
  const last = rows.length === limit ? rows.at(-1)! : null;
  return { rows, next: last && order.map((name) => last[`at_${name}`]) };
}

/** Reads ledger rows by hour, after a row of an hour. */
async function readDays(
  db: Db,
  query: UsageQuery,
  fixed: Where,
  [day = query.start, row = 0]: UsageCursor,
  limit: number,
): Promise<Step> {
  // The rest of an hour, then the others: one condition for both would read the hour from its beginning.
  const isWithin = row !== 0;
  const range = isWithin
    ? { 'day = ? AND rowid > ?': [day, row] }
    : { 'day >= ? AND day < ?': [day, query.before] };
  const rows = await readRows<{ at: string; place: number }>(db, query, {
    table: ledgerTable(db),
    where: { ...fixed, ...range },
    places: ['day AS at', 'rowid AS place'],
    order: ['l.day', 'l.rowid'],
    limit,
  });
  const last = rows.length === limit ? rows.at(-1)! : null;
  if (last) return { rows, next: [last.at, last.place] };
  return { rows, next: isWithin ? [`${day}!`, 0] : null };
}

interface Read {
  table: UsageTable;
  where: Where;
  /** Columns that name the place of a row. */
  places: readonly string[];
  order: readonly string[];
  limit: number;
}

function readRows<Place>(
  db: Db,
  query: UsageQuery,
  { table, where, places, order, limit }: Read,
): Promise<(Step['rows'][number] & Place)[]> {
  const condition = conditions({ 'org_id = ?': query.orgId, ...matching(table, query.filter) });
  const fixed = conditions(where);
  const fields = usageFields({ ...table, amount: `CAST(${table.amount} AS text)` }, query.groups);
  return db.all(
    `SELECT ${[fields, ...places].join(', ')}, ${condition.sql} AS "isAsked" FROM ${table.from}
     WHERE ${fixed.sql} ORDER BY ${order.join(', ')} LIMIT ?`,
    [...condition.params, ...fixed.params, limit],
  );
}
