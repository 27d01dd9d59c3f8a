import type { UsageGroup, UsageQuery, UsageReport, UsageSum } from '../../../core/usage-report.ts';
import type { Db, Queries } from '../../db.ts';
import { conditions } from '../table.ts';

const columns: Record<UsageGroup, string> = { day: 'day', model: 'model', org: 'org_id' };

type Row = Omit<UsageSum, 'amount'> & { amount: string } & Record<UsageGroup, string | null>;

/** Sums of the ledger, and their total, in one statement: the days of each org are found by the index. */
export async function sumUsage(db: Db, query: UsageQuery): Promise<UsageReport> {
  const { start, end, groups, orgId, after, limit } = query;
  const asked = conditions({
    'org_id = ?': orgId,
    'org_id IN (SELECT id FROM orgs)': orgId === undefined ? [] : undefined,
    'day >= ?': start,
    'day <= ?': end,
  });
  const list = (text: (group: UsageGroup) => string) => groups.map(text).join(', ');
  const names = list((group) => `"${group}"`);
  const behind = conditions({ [`(${names}) > (${list(() => '?')})`]: after });
  const rows = await db.all<Row>(
    `WITH used AS (
       SELECT ${list((group) => `${columns[group]} AS "${group}"`)}, sum(requests) AS requests,
         sum(input_tokens) AS input, sum(cached_tokens) AS cached, sum(output_tokens) AS output,
         sum(COALESCE(amount, ${batchAmount(db)}, 0)) AS amount
       FROM usage_ledger l WHERE ${asked.sql} GROUP BY ${list((group) => columns[group])})
     SELECT ${list((group) => `NULL AS "${group}"`)}, ${added((sum) => `COALESCE(sum(${sum}), 0)`)} FROM used
     UNION ALL
     SELECT * FROM (SELECT ${names}, ${added((sum) => sum)} FROM used
       WHERE ${behind.sql} ORDER BY ${names} LIMIT ?) AS page
     ORDER BY ${names}`,
    [...asked.params, ...behind.params, limit + 1],
  );
  const isTotal = (row: Row) => row[groups[0]!] === null;
  const found = rows.filter((row) => !isTotal(row));
  return {
    rows: found.slice(0, limit).map((row) => ({ of: groups.map((group) => row[group]!), ...sumOf(row) })),
    total: sumOf(rows.find(isTotal)!),
    hasMore: found.length > limit,
  };
}

/** Before a purged batch is removed, and its prices with it: what its rows of the ledger come to. */
export async function keepAmounts(q: Queries, db: Db, orgId: string, batchId: string): Promise<void> {
  await q.all(
    `UPDATE usage_ledger AS l SET amount = COALESCE(${batchAmount(db)}, 0)
     WHERE source_id = (SELECT id FROM batches WHERE id = ? AND org_id = ? AND purged = 1) AND amount IS NULL`,
    [batchId, orgId],
  );
}

/** What a row `l` of a batch costs at the prices of the batch, rounded half up, as the spending of budgets counts it. */
function batchAmount({ types: { dialect } }: Db): string {
  const prices =
    dialect === 'postgres' ? 'CAST(b.prices AS json)' : 'CASE WHEN json_valid(b.prices) THEN b.prices END';
  const amount = (price: string, tokens: string) => `${tokens} * CAST((p.value ->> '${price}') AS numeric)`;
  return `(SELECT CAST(round((${amount('input', '(l.input_tokens - l.cached_tokens)')}
      + ${amount('cachedInput', 'l.cached_tokens')} + ${amount('output', 'l.output_tokens')})
      * CAST(b.price_factor AS numeric) / 1e6) AS bigint)
    FROM batches b, json_each(${prices}) AS p WHERE b.id = l.source_id AND p.key = l.model)`;
}

/** Cast, because sums of big integers are decimals in Postgres, and those of money may be larger than a number holds. */
function added(text: (sum: string) => string): string {
  const count = (sum: string, name: string) => `CAST(${text(sum)} AS bigint) AS "${name}"`;
  return `${count('requests', 'requests')}, ${count('input', 'inputTokens')}, ${count('cached', 'cachedTokens')},
    ${count('output', 'outputTokens')}, CAST(${text('amount')} AS text) AS amount`;
}

function sumOf({ requests, inputTokens, cachedTokens, outputTokens, amount }: Row): UsageSum {
  return { requests, inputTokens, cachedTokens, outputTokens, amount: BigInt(amount) };
}
