import { singlesOf } from '../../../core/usage-report.ts';
import { addUsage } from '../../../core/usage.ts';
import type { LedgerRow } from '../../contract/accounts.ts';
import type { Db, Queries } from '../../db.ts';
import { paddedSlices, tuples } from '../statement.ts';
import { addRolledUp, ledger, fromRow, type Row } from './ledger-rows.ts';
import { sumRows } from './sum-ledger.ts';
import { billedAmount } from './usage-columns.ts';

/**
 * Adds up to `limit` of the oldest hours from before `day` into rows of their days, in one transaction; only hours that are in the sums.
 * Amounts are rounded before they are added, so that all sums stay as they were. Returns the number of rows taken.
 */
export function rollUp(db: Db, day: string, limit: number): Promise<number> {
  return db.tx(async (q) => {
    const rows = await q.all<Row>(
      `SELECT ${ledger.fields}, ${billedAmount(db)} AS amount, 0 AS "amountRest" FROM usage_ledger l
       WHERE rolled_up = 2 AND day < ? ORDER BY day LIMIT ? ${q.skipLocked}`,
      [day, limit],
    );
    await removeRows(q, rows);
    const days = new Map<string, LedgerRow>();
    for (const row of rows.map(toDay)) {
      const key = `${row.sourceId} ${row.model} ${row.day}`;
      const known = days.get(key);
      days.set(key, known ? add(known, row) : row);
    }
    // Days that an earlier version rolled up.
    await sumRows(q, db, [...days.values()]);
    await addRolledUp(q, [...days.values()]);
    return rows.length;
  });
}

/** Version 0.1.0 wrote one row for each single request. */
function toDay(row: Row): LedgerRow {
  const { sourceId, ...more } = fromRow(row);
  const isSingle = sourceId.startsWith('req_');
  return { ...more, sourceId: isSingle ? singlesOf(more) : sourceId, day: row.day.slice(0, 10) };
}

function add(a: LedgerRow, b: LedgerRow): LedgerRow {
  return {
    ...a,
    requests: a.requests + b.requests,
    usage: addUsage(a.usage, b.usage),
    amount: a.amount! + b.amount!,
  };
}

async function removeRows(q: Queries, rows: readonly Row[]): Promise<void> {
  for (const slice of paddedSlices(rows, 256))
    await q.all(
      `DELETE FROM usage_ledger WHERE (source_id, model, day) IN (VALUES ${tuples(slice.length, 3)})`,
      slice.flatMap(({ sourceId, model, day }) => [sourceId, model, day]),
    );
}
