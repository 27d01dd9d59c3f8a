import { costParts } from '../../../core/price.ts';
import type {
  UsageFilter,
  UsageGroup,
  UsagePart,
  UsageCursor,
  UsageQuery,
  UsageRow,
  UsageSum,
} from '../../../core/usage-report.ts';
import type { Db, Queries } from '../../db.ts';
import { tuples } from '../statement.ts';
import { conditions, type Where } from '../table.ts';

const columns: Record<UsageGroup, string> = {
  day: 'substr(day, 1, 10)',
  hour: 'day',
  endpoint: 'endpoint',
  tag: 'tag',
  model: 'model',
  org: 'org_id',
  key: "COALESCE(key_id, '')",
  batch: "CASE WHEN source_id LIKE 'batch!_%' ESCAPE '!' THEN source_id ELSE '' END",
};

type Row = Omit<UsageSum, 'amount'> & { amount: string } & Record<UsageGroup, string>;

/** Rows per part in SQLite, whose thread serves everything: about 1.5 ms. */
const rowsAtOnce = 1_000;
/** Rows that the search for the next org counts for. */
const orgRows = 20;

/** Sums of the ledger: in parts for SQLite, whole for Postgres. */
export async function sumUsage(db: Db, query: UsageQuery, from?: UsageCursor): Promise<UsagePart> {
  if (db.types.dialect === 'sqlite') return sumPart(db, query, from);
  const { start, before, orgId, filter } = query;
  const asked = conditions({
    'org_id = ?': orgId,
    'org_id IN (SELECT id FROM orgs)': orgId === undefined ? [] : undefined,
    'day >= ?': start,
    'day < ?': before,
    ...matching(filter),
  });
  const rows = await db.all<Row>(
    `SELECT ${summed(db, query)} FROM usage_ledger l WHERE ${asked.sql} ${grouped(query)}`,
    asked.params,
  );
  return { rows: rows.map((row) => rowOf(row, query)), next: null };
}

/** Reads the ledger of one org after another, by hour. */
async function sumPart(db: Db, query: UsageQuery, from?: UsageCursor): Promise<UsagePart> {
  const { start, before, orgId, filter } = query;
  const asked = conditions(matching(filter));
  const nextOrg = async (org: string) =>
    (await db.all<{ id: string | null }>('SELECT min(id) AS id FROM orgs WHERE id > ?', [org]))[0]!.id;

  const rows: UsageRow[] = [];
  let org = from?.org ?? orgId ?? (await nextOrg(''));
  let { day, row: behind } = from ?? { day: start, row: 0 };
  for (let left = rowsAtOnce; org !== null;) {
    if (left <= 0) return { rows, next: { org, day, row: behind } };
    // Rows that the filter excludes are read too, because they count for the part.
    const told = await db.all<Row & { rows: number; last: string; isAsked: number }>(
      `SELECT ${summed(db, query)}, count(*) AS rows, max(day || '+' || printf('%016d', place)) AS last,
         ${asked.sql} AS "isAsked"
       FROM (SELECT *, rowid AS place FROM usage_ledger
         WHERE org_id = ? AND day >= ? AND day < ? AND (day > ? OR rowid > ?) ORDER BY day, rowid LIMIT ?) AS l
       ${grouped(query)}, "isAsked"`,
      [...asked.params, org, day, before, day, behind, left],
    );
    rows.push(...told.filter(({ isAsked }) => isAsked).map((row) => rowOf(row, query)));
    const taken = told.reduce((sum, row) => sum + row.rows, 0);
    if (taken < left) {
      org = orgId === undefined ? await nextOrg(org) : null;
      [day, behind] = [start, 0];
    } else {
      const last = told.reduce((max, row) => (row.last > max ? row.last : max), '');
      [day, behind] = [last.slice(0, last.indexOf('+')), Number(last.slice(last.indexOf('+') + 1))];
    }
    left -= taken + orgRows;
  }
  return { rows, next: null };
}

function grouped({ groups }: UsageQuery): string {
  return `GROUP BY ${groups.map((group) => columns[group]).join(', ')}`;
}

/** Casts, because sums of bigints are decimals in Postgres, and sums of money may exceed a number. */
function summed(db: Db, { groups }: UsageQuery): string {
  const sum = (text: string, name: string) => `CAST(sum(${text}) AS bigint) AS "${name}"`;
  return `${groups.map((group) => `${columns[group]} AS "${group}"`).join(', ')},
    ${sum('requests', 'requests')}, ${sum('input_tokens', 'inputTokens')}, ${sum('cached_tokens', 'cachedTokens')},
    ${sum('cache_write_tokens', 'cacheWriteTokens')},
    ${sum('output_tokens', 'outputTokens')}, ${sum('reasoning_tokens', 'reasoningTokens')},
    CAST(sum(${billedAmount(db)}) AS text) AS amount`;
}

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
    ...(batch !== undefined && { [`source_id ${batch ? '' : 'NOT'} LIKE 'batch!_%' ESCAPE '!'`]: [] }),
  };
}

function rowOf(row: Row, { groups }: UsageQuery): UsageRow {
  const { requests, inputTokens, cachedTokens, cacheWriteTokens, outputTokens, reasoningTokens, amount } =
    row;
  return {
    groupValues: groups.map((group) => row[group]),
    requests,
    inputTokens,
    cachedTokens,
    cacheWriteTokens,
    outputTokens,
    reasoningTokens,
    amount: BigInt(amount),
  };
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
