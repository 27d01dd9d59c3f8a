import { cost, type Prices } from '../../../core/price.ts';
import type { Usage } from '../../../core/usage.ts';
import type { Db, Queries, Value } from '../../db.ts';
import type { LedgerRow, LedgerStore } from '../../contract/accounts.ts';
import { inLists, slices, tuples } from '../statement.ts';
import { addSpending } from './spending.ts';

const columns = 'source_id, model, day, org_id, requests, input_tokens, cached_tokens, output_tokens, amount';

interface Row {
  source_id: string;
  model: string;
  day: string;
  org_id: string;
  requests: number;
  input_tokens: number;
  cached_tokens: number;
  output_tokens: number;
  amount: number | null;
}

export function createLedger(db: Db): LedgerStore {
  const ofMany = async (sourceIds: string[]) => {
    const found: LedgerRow[] = [];
    for (const { sql, params } of inLists(sourceIds)) {
      const rows = await db.all<Row>(
        `SELECT ${columns} FROM usage_ledger WHERE source_id IN ${sql} ORDER BY source_id, model, day`,
        params,
      );
      found.push(...rows.map(fromRow));
    }
    return found;
  };
  return {
    add: (rows) =>
      db.tx(async (q) => {
        const billed = await billedSources(q, rows);
        // One row a source, whatever the day: a repeat after midnight is still a repeat.
        const fresh = rows.filter(({ sourceId }) => !billed.has(sourceId) && billed.add(sourceId));
        for (const slice of slices(fresh, 256))
          await q.all(
            `INSERT INTO usage_ledger (${columns}) VALUES ${tuples(slice.length, 9)}`,
            slice.flatMap(toRow),
          );
        await addSpending(q, fresh);
      }),
    of: (sourceId) => ofMany([sourceId]),
    ofMany,
  };
}

async function billedSources(q: Queries, rows: LedgerRow[]): Promise<Set<string>> {
  const billed = new Set<string>();
  for (const { sql, params } of inLists(rows.map((row) => row.sourceId))) {
    const known = await q.all<{ source_id: string }>(
      `SELECT source_id FROM usage_ledger WHERE source_id IN ${sql}`,
      params,
    );
    for (const row of known) billed.add(row.source_id);
  }
  return billed;
}

type BatchSum = Row & { prices: string; price_factor: number };

/** Adds sums to the rows of batches, each row once. The batches are locked, so nobody else writes them. */
export async function addToLedger(q: Queries, rows: readonly LedgerRow[]): Promise<void> {
  const added = new Map(rows.map((row) => [`${row.sourceId} ${row.model}`, row]));
  const sums: BatchSum[] = [];
  for (const slice of slices(rows, 256)) {
    const grown = await q.all<BatchSum>(
      `INSERT INTO usage_ledger (${columns}) VALUES ${tuples(slice.length, 9)}
       ON CONFLICT (source_id, model, day) DO UPDATE SET
         requests = usage_ledger.requests + excluded.requests,
         input_tokens = usage_ledger.input_tokens + excluded.input_tokens,
         cached_tokens = usage_ledger.cached_tokens + excluded.cached_tokens,
         output_tokens = usage_ledger.output_tokens + excluded.output_tokens
       RETURNING ${columns}, ${ofBatch('prices')}, ${ofBatch('price_factor')}`,
      slice.flatMap(toRow),
    );
    sums.push(...grown);
  }
  await addSpending(
    q,
    sums.map((sum) => ({
      orgId: sum.org_id,
      day: sum.day,
      amount: amountAdded(sum, added.get(`${sum.source_id} ${sum.model}`)!.usage),
    })),
  );
}

const ofBatch = (column: string) =>
  `(SELECT b.${column} FROM batches b WHERE b.id = usage_ledger.source_id) AS ${column}`;

/** How much more the row costs since it has grown by `by`: rounded as a whole, so that nothing is lost however often it grows. */
function amountAdded(sum: BatchSum, by: Usage): number {
  const prices = (JSON.parse(sum.prices) as Record<string, Prices>)[sum.model];
  if (!prices) return 0;
  const { usage } = fromRow(sum);
  const before: Usage = {
    inputTokens: usage.inputTokens - by.inputTokens,
    cachedTokens: usage.cachedTokens - by.cachedTokens,
    outputTokens: usage.outputTokens - by.outputTokens,
  };
  return Number(cost(usage, prices, sum.price_factor) - cost(before, prices, sum.price_factor));
}

function toRow({ sourceId, model, day, orgId, requests, usage, amount }: LedgerRow): Value[] {
  return [
    sourceId,
    model,
    day,
    orgId,
    requests,
    usage.inputTokens,
    usage.cachedTokens,
    usage.outputTokens,
    amount,
  ];
}

function fromRow(row: Row): LedgerRow {
  return {
    sourceId: row.source_id,
    orgId: row.org_id,
    model: row.model,
    day: row.day,
    requests: row.requests,
    usage: {
      inputTokens: row.input_tokens,
      cachedTokens: row.cached_tokens,
      outputTokens: row.output_tokens,
    },
    amount: row.amount,
  };
}
