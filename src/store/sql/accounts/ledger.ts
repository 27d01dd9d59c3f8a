import { cost, type Prices } from '../../../core/price.ts';
import type { Usage } from '../../../core/usage.ts';
import type { Db, Queries } from '../../db.ts';
import type { LedgerRow, LedgerStore } from '../../contract/accounts.ts';
import { allIn } from '../statement.ts';
import { tableOf } from '../table.ts';
import { addSpending } from './spending.ts';
import { sumUsage } from './usage-report.ts';

type Row = Omit<LedgerRow, 'usage'> & Usage;

const ledger = tableOf<Row>('usage_ledger')(
  'sourceId model day orgId keyId requests inputTokens cachedTokens outputTokens reasoningTokens amount',
);

export function createLedger(db: Db): LedgerStore {
  return {
    add: (rows) =>
      db.tx(async (q) => {
        const billed = await billedSources(q, rows);
        // By source only: a repeat after midnight is still a repeat.
        const fresh = rows.filter(({ sourceId }) => !billed.has(sourceId) && billed.add(sourceId));
        await ledger.insert(q, fresh.map(toRow));
        await addSpending(q, fresh);
      }),
    forSource: (sourceId) => ledgerRows(db, [sourceId]),
    forSources: (sourceIds) => ledgerRows(db, sourceIds),
    usage: (query, from) => sumUsage(db, query, from),
  };
}

export async function ledgerRows(q: Queries, sourceIds: readonly string[]): Promise<LedgerRow[]> {
  const rows = await ledger.among(q, 'sourceId', sourceIds, {}, 'ORDER BY source_id, model, day');
  return rows.map(fromRow);
}

async function billedSources(q: Queries, rows: LedgerRow[]): Promise<Set<string>> {
  const ids = rows.map((row) => row.sourceId);
  const text = (list: string) => `SELECT source_id FROM usage_ledger WHERE source_id IN ${list}`;
  const known = await allIn<{ source_id: string }>(q, ids, text);
  return new Set(known.map((row) => row.source_id));
}

type BatchSum = Row & { prices: string; priceFactor: number };

/** Adds sums to the ledger rows of locked batches. */
export async function addToLedger(q: Queries, rows: readonly LedgerRow[]): Promise<void> {
  const added = new Map(rows.map((row) => [`${row.sourceId} ${row.model}`, row]));
  const sums = (await ledger.insert(
    q,
    rows.map(toRow),
    `ON CONFLICT (source_id, model, day) DO UPDATE SET
       requests = usage_ledger.requests + excluded.requests,
       input_tokens = usage_ledger.input_tokens + excluded.input_tokens,
       cached_tokens = usage_ledger.cached_tokens + excluded.cached_tokens,
       output_tokens = usage_ledger.output_tokens + excluded.output_tokens,
       reasoning_tokens = usage_ledger.reasoning_tokens + excluded.reasoning_tokens
     RETURNING ${ledger.fields}, ${ofBatch('prices')} AS prices, ${ofBatch('price_factor')} AS "priceFactor"`,
  )) as BatchSum[];
  await addSpending(
    q,
    sums.map((sum) => ({
      orgId: sum.orgId,
      day: sum.day,
      amount: amountAdded(sum, added.get(`${sum.sourceId} ${sum.model}`)!.usage),
    })),
  );
}

const ofBatch = (column: string) => `(SELECT b.${column} FROM batches b WHERE b.id = usage_ledger.source_id)`;

/** Increase in cost of a row that grew by `by`. The total is rounded, so that rounding errors do not add up. */
function amountAdded(sum: BatchSum, by: Usage): number {
  const prices = (JSON.parse(sum.prices) as Record<string, Prices>)[sum.model];
  if (!prices) return 0;
  const before: Usage = {
    ...sum,
    inputTokens: sum.inputTokens - by.inputTokens,
    cachedTokens: sum.cachedTokens - by.cachedTokens,
    outputTokens: sum.outputTokens - by.outputTokens,
  };
  return Number(cost(sum, prices, sum.priceFactor) - cost(before, prices, sum.priceFactor));
}

function toRow({ usage, ...row }: LedgerRow): Row {
  return { ...row, ...usage };
}

function fromRow({ inputTokens, cachedTokens, outputTokens, reasoningTokens, ...row }: Row): LedgerRow {
  return { ...row, usage: { inputTokens, cachedTokens, outputTokens, reasoningTokens } };
}
