import { costParts, roundCost, roundedIncrease } from '../../../core/price.ts';
import type { Usage } from '../../../core/usage.ts';
import type { Queries } from '../../db.ts';
import type { LedgerEntry, LedgerRow } from '../../contract/accounts.ts';
import { tableOf } from '../table.ts';
import { addSpending } from './spending.ts';
import { figureColumns } from './usage-columns.ts';
import { addToSums } from './usage-sums.ts';

/** Whole nano-dollars, and the rest in `costParts`. */
interface AmountColumns {
  amount: number | null;
  amountRest: number;
}

export type Row = Omit<LedgerRow, 'usage' | 'amount'> & Usage & AmountColumns;

export const ledger = tableOf<Row>('usage_ledger')(
  'sourceId model day orgId keyId endpoint tag requests inputTokens cachedTokens cacheWriteTokens outputTokens reasoningTokens',
  'amount amountRest',
);

const rolledUp = tableOf<Row & { rolledUp: 3 }>('usage_ledger')(
  'sourceId model day orgId keyId endpoint tag requests inputTokens cachedTokens cacheWriteTokens outputTokens reasoningTokens',
  'amount amountRest rolledUp',
);

export async function ledgerRows(q: Queries, sourceIds: readonly string[]): Promise<LedgerRow[]> {
  const rows = await ledger.among(q, 'sourceId', sourceIds, {}, 'ORDER BY source_id, model, day');
  return rows.map(fromRow);
}

/** Adds charges, those of batches under the lock of the batch, in one statement. */
export async function addToLedger(q: Queries, entries: readonly LedgerEntry[]): Promise<void> {
  const added = new Map(entries.map((entry) => [keyOf(entry), entry]));
  const sums = (await ledger.insert(
    q,
    // One lock order for all processes.
    entries.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)).map(toRow),
    `${onConflictAdd} RETURNING source_id AS "sourceId", model, day, amount, amount_rest AS "amountRest", rolled_up AS "rolledUp"`,
  )) as (Pick<Row, 'sourceId' | 'model' | 'day' | 'amount' | 'amountRest'> & { rolledUp: number })[];
  const charged = sums.map(({ rolledUp: state, ...sum }) => {
    const entry = added.get(keyOf(sum))!;
    const cost = { nano: sum.amount ?? 0, parts: sum.amountRest };
    return { ...entry, amount: roundedIncrease(cost, entry.cost), isLate: state >= 2 };
  });
  // For an hour that is in the sums already.
  await addToSums(
    q,
    charged.filter(({ isLate }) => isLate),
  );
  await addSpending(q, charged);
}

/** Adds whole amounts that are in the sums to the rows of their days. Budgets counted them when they were charged. */
export async function addRolledUp(q: Queries, rows: readonly LedgerRow[]): Promise<void> {
  await rolledUp.insert(
    q,
    rows.map(({ usage, ...row }) => ({ ...row, ...usage, amountRest: 0, rolledUp: 3 })),
    onConflictAdd,
  );
}

const onConflictAdd = `ON CONFLICT (source_id, model, day) DO UPDATE SET
  ${Object.values(figureColumns)
    .map((name) => `${name} = usage_ledger.${name} + excluded.${name}`)
    .join(', ')},
  amount = usage_ledger.amount + excluded.amount + (usage_ledger.amount_rest + excluded.amount_rest) / ${costParts},
  amount_rest = (usage_ledger.amount_rest + excluded.amount_rest) % ${costParts}`;

const keyOf = ({ sourceId, model, day }: Pick<LedgerRow, 'sourceId' | 'model' | 'day'>) =>
  `${sourceId} ${model} ${day}`;

function toRow({ usage, cost, ...row }: LedgerEntry): Row {
  return { ...row, ...usage, amount: cost.nano, amountRest: cost.parts };
}

export function fromRow(row: Row): LedgerRow {
  const { inputTokens, cachedTokens, cacheWriteTokens, outputTokens, reasoningTokens, ...more } = row;
  const { amount, amountRest, ...fields } = more;
  return {
    ...fields,
    usage: { inputTokens, cachedTokens, cacheWriteTokens, outputTokens, reasoningTokens },
    amount: amount === null ? null : roundCost({ nano: amount, parts: amountRest }),
  };
}
