import type {
  UsageGroup,
  UsagePart,
  UsageCursor,
  UsageQuery,
  UsageRow,
  UsageSum,
} from '../../../core/usage-report.ts';
import type { Db, Queries } from '../../db.ts';
import { conditions } from '../table.ts';

const columns: Record<UsageGroup, string> = {
  day: 'day',
  model: 'model',
  org: 'org_id',
  key: "COALESCE(key_id, '')",
  batch: "CASE WHEN source_id LIKE 'batch!_%' ESCAPE '!' THEN source_id ELSE '' END",
};

type Row = Omit<UsageSum, 'amount'> & { amount: string } & Record<UsageGroup, string>;

/** Rows per part in SQLite, whose thread serves everything: about 15 ms. */
const rowsAtOnce = 10_000;

/** Sums of the ledger: in parts for SQLite, whole for Postgres. */
export async function sumUsage(db: Db, query: UsageQuery, from?: UsageCursor): Promise<UsagePart> {
  if (db.types.dialect === 'sqlite') return sumPart(db, query, from);
  const { start, end, orgId } = query;
  const asked = conditions({
    'org_id = ?': orgId,
    'org_id IN (SELECT id FROM orgs)': orgId === undefined ? [] : undefined,
    'day >= ?': start,
    'day <= ?': end,
  });
  const rows = await db.all<Row>(
    `SELECT ${summed(db, query)} FROM usage_ledger l WHERE ${asked.sql} ${grouped(query)}`,
    asked.params,
  );
  return { rows: rows.map((row) => rowOf(row, query)), next: null };
}

async function sumPart(db: Db, query: UsageQuery, from?: UsageCursor): Promise<UsagePart> {
  const { start, end, orgId } = query;
  const nextOrg = async (org: string) =>
    (await db.all<{ id: string | null }>('SELECT min(id) AS id FROM orgs WHERE id > ?', [org]))[0]!.id;
  const nextDay = async (org: string, day: string) =>
    (
      await db.all<{ day: string | null }>(
        'SELECT min(day) AS day FROM usage_ledger WHERE org_id = ? AND day >= ? AND day <= ?',
        [org, day, end],
      )
    )[0]!.day;

  const rows: UsageRow[] = [];
  let org = from?.org ?? orgId ?? (await nextOrg(''));
  let { day, row: behind } = from ?? { day: start, row: 0 };
  for (let left = rowsAtOnce; org !== null;) {
    if (left <= 0) return { rows, next: { org, day, row: behind } };
    const found = await nextDay(org, day);
    if (found !== day) behind = 0;
    if (found === null) {
      org = orgId === undefined ? await nextOrg(org) : null;
      day = start;
      left--;
      continue;
    }
    const told = await db.all<Row & { rows: number; last: number }>(
      `SELECT ${summed(db, query)}, count(*) AS rows, max(place) AS last FROM (
         SELECT *, rowid AS place FROM usage_ledger WHERE org_id = ? AND day = ? AND rowid > ?
         ORDER BY rowid LIMIT ?) AS l ${grouped(query)}`,
      [org, found, behind, left],
    );
    rows.push(...told.map((row) => rowOf(row, query)));
    const taken = told.reduce((sum, row) => sum + row.rows, 0);
    // Sorts directly after the day.
    day = taken < left ? `${found}+` : found;
    behind = Math.max(0, ...told.map(({ last }) => last));
    left -= taken;
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
    ${sum('output_tokens', 'outputTokens')}, ${sum('reasoning_tokens', 'reasoningTokens')},
    CAST(sum(COALESCE(amount, ${batchAmount(db)}, 0)) AS text) AS amount`;
}

function rowOf(row: Row, { groups }: UsageQuery): UsageRow {
  const { requests, inputTokens, cachedTokens, outputTokens, reasoningTokens, amount } = row;
  return {
    groupValues: groups.map((group) => row[group]),
    requests,
    inputTokens,
    cachedTokens,
    outputTokens,
    reasoningTokens,
    amount: BigInt(amount),
  };
}

/** Writes the cost of a purged batch into its ledger rows, before its prices are removed with it. */
export async function freezeAmounts(q: Queries, db: Db, orgId: string, batchId: string): Promise<void> {
  await q.all(
    `UPDATE usage_ledger AS l SET amount = COALESCE(${batchAmount(db)}, 0)
     WHERE source_id = (SELECT id FROM batches WHERE id = ? AND org_id = ? AND purged = 1) AND amount IS NULL`,
    [batchId, orgId],
  );
}

/** SQL: cost of a ledger row `l` at the prices of its batch, rounded half up as for budgets. */
function batchAmount({ types: { dialect } }: Db): string {
  const prices =
    dialect === 'postgres' ? 'CAST(b.prices AS json)' : 'CASE WHEN json_valid(b.prices) THEN b.prices END';
  const amount = (price: string, tokens: string) => `${tokens} * CAST((p.value ->> '${price}') AS numeric)`;
  return `(SELECT CAST(round((${amount('input', '(l.input_tokens - l.cached_tokens)')}
      + ${amount('cachedInput', 'l.cached_tokens')} + ${amount('output', 'l.output_tokens')})
      * CAST(b.price_factor AS numeric) / 1e6) AS bigint)
    FROM batches b, json_each(${prices}) AS p WHERE b.id = l.source_id AND p.key = l.model)`;
}
