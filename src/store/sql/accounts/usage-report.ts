import { costParts } from '../../../core/price.ts';
import {
  flexSource,
  type UsageColumns,
  type UsageFilter,
  type UsageGroup,
  type UsagePart,
  type UsageCursor,
  type UsageQuery,
} from '../../../core/usage-report.ts';
import { figureNames, groupKey, UsageSums } from '../../../core/usage-sums.ts';
import { heavySlices } from '../../../base/loop-slices.ts';
import type { Db, Queries } from '../../db.ts';
import { tuples } from '../statement.ts';
import { conditions, type Where } from '../table.ts';

const isOfBatch = `source_id LIKE 'batch!_%' ESCAPE '!'`;

const columns: Record<UsageGroup, string> = {
  day: 'substr(day, 1, 10)',
  hour: 'day',
  endpoint: 'endpoint',
  tag: 'tag',
  model: 'model',
  org: 'org_id',
  key: "COALESCE(key_id, '')",
  batch: `CASE WHEN ${isOfBatch} THEN source_id ELSE '' END`,
  tier: `CASE WHEN ${isOfBatch} THEN 'batch' WHEN source_id LIKE '${flexSource}%' THEN 'flex' ELSE 'default' END`,
};

const figureColumns: Record<(typeof figureNames)[number], string> = {
  requests: 'requests',
  inputTokens: 'input_tokens',
  cachedTokens: 'cached_tokens',
  cacheWriteTokens: 'cache_write_tokens',
  outputTokens: 'output_tokens',
  reasoningTokens: 'reasoning_tokens',
};

type Row = Record<UsageGroup, string> & Record<(typeof figureNames)[number], number> & { amount: string };

/** Rows per part in SQLite, whose thread serves everything: about a millisecond. */
const rowsAtOnce = 250;
/** Rows that the search for the next org counts for. */
const orgRows = 20;
/** Groups that Postgres sends at a time. */
const groupsAtOnce = 500;

/** Sums of the ledger: in parts for SQLite, whole for Postgres. */
export async function sumUsage(db: Db, query: UsageQuery, from?: UsageCursor): Promise<UsagePart> {
  if (db.types.dialect === 'sqlite') return sumPart(db, query, from);
  return { columns: await sumWhole(db, query), next: null };
}

/** Reads the sums of one statement a few at a time, so that the event loop of this process has turns in between. */
async function sumWhole(db: Db, query: UsageQuery): Promise<UsageColumns[]> {
  const { start, before, orgId, filter } = query;
  const asked = conditions({
    'org_id = ?': orgId,
    'org_id IN (SELECT id FROM orgs)': orgId === undefined ? [] : undefined,
    'day >= ?': start,
    'day < ?': before,
    ...matching(filter),
  });
  return db.tx(async (q) => {
    const parts: UsageColumns[] = [];
    await q.all(
      `DECLARE sums NO SCROLL CURSOR FOR
       SELECT ${summed(db, query)} FROM usage_ledger l WHERE ${asked.sql}
       GROUP BY ${query.groups.map((group) => columns[group]).join(', ')}`,
      asked.params,
    );
    for (;;) {
      const rows = await q.all<Row>(`FETCH ${groupsAtOnce} FROM sums`);
      const sums = new UsageSums();
      for (const row of rows) addTo(sums, row, query);
      parts.push(sums.columns());
      if (rows.length < groupsAtOnce) return parts;
      await heavySlices.next(orgId);
    }
  });
}

/** Reads the ledger of one org after another, by hour. */
async function sumPart(db: Db, query: UsageQuery, from?: UsageCursor): Promise<UsagePart> {
  const { start, before, orgId, filter } = query;
  const asked = conditions(matching(filter));
  const nextOrg = async (org: string) =>
    (await db.all<{ id: string | null }>('SELECT min(id) AS id FROM orgs WHERE id > ?', [org]))[0]!.id;

  const sums = new UsageSums();
  let org = from?.org ?? orgId ?? (await nextOrg(''));
  let { day, row: behind } = from ?? { day: start, row: 0 };
  for (let left = rowsAtOnce; org !== null;) {
    if (left <= 0) return { columns: [sums.columns()], next: { org, day, row: behind } };
    // The rest of an hour, then the others: one condition for both would read the hour from its beginning.
    const isWithin = behind > 0;
    // Rows that the filter excludes are read too, because they count for the part. Groups are added up here, which takes half the time.
    const rows = await db.all<Row & { at: string; place: number; isAsked: number }>(
      `SELECT ${selected(db, query)}, day AS at, rowid AS place, ${asked.sql} AS "isAsked" FROM usage_ledger l
       WHERE org_id = ? AND ${isWithin ? 'day = ? AND rowid > ?' : 'day >= ? AND day < ?'} ORDER BY l.day, l.rowid LIMIT ?`,
      [...asked.params, org, day, isWithin ? behind : before, left],
    );
    for (const row of rows) if (row.isAsked) addTo(sums, row, query);
    const last = rows.at(-1);
    if (last && rows.length === left) {
      [day, behind] = [last.at, last.place];
    } else if (isWithin) [day, behind] = [`${day}!`, 0];
    else {
      org = orgId === undefined ? await nextOrg(org) : null;
      [day, behind] = [start, 0];
    }
    left -= rows.length + (isWithin ? 0 : orgRows);
  }
  return { columns: [sums.columns()], next: null };
}

/** Columns of a ledger row `l`. */
function selected(db: Db, { groups }: UsageQuery): string {
  const members = [...groupsOf(groups), ...figureNames.map((name) => `${figureColumns[name]} AS "${name}"`)];
  return `${members.join(', ')}, CAST(${billedAmount(db)} AS text) AS amount`;
}

/** Columns of sums by group. Casts, because sums of bigints are decimals in Postgres, and sums of money may exceed a number. */
function summed(db: Db, { groups }: UsageQuery): string {
  const sums = figureNames.map((name) => `CAST(sum(${figureColumns[name]}) AS bigint) AS "${name}"`);
  return `${[...groupsOf(groups), ...sums].join(', ')}, CAST(sum(${billedAmount(db)}) AS text) AS amount`;
}

const groupsOf = (groups: UsageQuery['groups']) => groups.map((group) => `${columns[group]} AS "${group}"`);

/** SQL conditions of a filter. */
function matching({ orgs, keys, models, endpoints, exceptEndpoints, batch }: UsageFilter = {}): Where {
  const among = (column: string, values: readonly string[] | undefined, not = '') =>
    values && { [`${column} ${not} IN ${tuples(1, values.length)}`]: [...values] };
  return {
    ...among('org_id', orgs),
    ...among('key_id', keys),
    ...among('model', models),
    ...among('endpoint', endpoints),
    ...among('endpoint', exceptEndpoints, 'NOT'),
    ...(batch !== undefined && { [batch ? isOfBatch : `NOT ${isOfBatch}`]: [] }),
  };
}

function addTo(sums: UsageSums, row: Row, { groups }: UsageQuery): void {
  sums.addRow(groupKey(groups.map((group) => row[group])), row, BigInt(row.amount));
}

/** SQL: nano-dollars of a ledger row `l`. */
export function billedAmount(db: Db): string {
  const rounded = `amount + (CASE WHEN amount_rest * 2 >= ${costParts} THEN 1 ELSE 0 END)`;
  return `COALESCE(${rounded}, ${batchAmount(db)}, 0)`;
}

/** Writes the cost of a purged batch into its ledger rows, before its prices are removed with it. */
export async function freezeAmounts(q: Queries, db: Db, orgId: string, batchId: string): Promise<void> {
  await q.all(
    `UPDATE usage_ledger AS l SET amount = COALESCE(${batchAmount(db)}, 0)
     WHERE source_id = (SELECT id FROM batches WHERE id = ? AND org_id = ? AND purged = 1) AND amount IS NULL`,
    [batchId, orgId],
  );
}

/** SQL: cost of a ledger row `l` of version 0.1.0 at the prices of its batch, rounded half up as for budgets. */
function batchAmount({ types: { dialect } }: Db): string {
  const prices =
    dialect === 'postgres' ? 'CAST(b.prices AS json)' : 'CASE WHEN json_valid(b.prices) THEN b.prices END';
  const amount = (price: string, tokens: string) => `${tokens} * CAST((p.value ->> '${price}') AS numeric)`;
  return `(SELECT CAST(round((${amount('input', '(l.input_tokens - l.cached_tokens)')}
      + ${amount('cachedInput', 'l.cached_tokens')} + ${amount('output', 'l.output_tokens')})
      * CAST(b.price_factor AS numeric) / 1e6) AS bigint)
    FROM batches b, json_each(${prices}) AS p WHERE b.id = l.source_id AND p.key = l.model)`;
}
