import { usageSums } from '../../migrations/0026-usage-sums.ts';
import type { LedgerRow } from '../../contract/accounts.ts';
import type { Db, Queries } from '../../db.ts';
import { paddedSlices, tuples } from '../statement.ts';
import { fromRow, ledger, type Row } from './ledger-rows.ts';
import { batchAmount } from './usage-columns.ts';
import { addToSums } from './usage-sums.ts';

type LedgerKey = Pick<LedgerRow, 'sourceId' | 'model' | 'day'>;

/**
 * Adds up to `limit` of the oldest ledger rows from before the hour `before` to the sums, in one transaction; none on a Postgres where a
 * process of an earlier version may have written after `upgradedBefore`. Returns the number of rows taken.
 */
export async function sumLedger(
  db: Db,
  before: string,
  limit: number,
  upgradedBefore: number,
): Promise<number> {
  if (!(await isUpgraded(db, upgradedBefore))) return 0;
  return db.tx(async (q) => {
    const keys = await q.all<LedgerKey>(
      `SELECT source_id AS "sourceId", model, day FROM usage_ledger
       WHERE rolled_up < 2 AND day < ? ORDER BY day LIMIT ? ${q.skipLocked}`,
      [before, limit],
    );
    await sumRows(q, db, keys);
    return keys.length;
  });
}

/**
 * True if no process of a version without sums is alive, or may return from a standstill with charges for an hour that is in the sums:
 * it would add them to the ledger alone.
 */
async function isUpgraded(db: Db, before: number): Promise<boolean> {
  // One process at a time uses an embedded database.
  if (db.types.dialect === 'sqlite') return true;
  const found = await db.all(
    'SELECT 1 AS one FROM finished_upgrades WHERE version >= ? AND finished_at < ? LIMIT 1',
    [usageSums.version, before],
  );
  return found.length > 0;
}

/** Adds those of the ledger rows that are not in the sums. From then on, `addToLedger` adds to both. */
export async function sumRows(q: Queries, db: Db, keys: readonly LedgerKey[]): Promise<void> {
  const rows: Row[] = [];
  for (const slice of paddedSlices(keys, 256)) {
    const summed = await q.all<Row>(
      `UPDATE usage_ledger AS l SET rolled_up = rolled_up + 2, amount = COALESCE(amount, ${batchAmount(db)}, 0)
       WHERE rolled_up < 2 AND (source_id, model, day) IN (VALUES ${tuples(slice.length, 3)})
       RETURNING ${ledger.fields}`,
      slice.flatMap(({ sourceId, model, day }) => [sourceId, model, day]),
    );
    rows.push(...summed);
  }
  await addToSums(
    q,
    rows.map(fromRow).map((row) => ({ ...row, amount: row.amount! })),
  );
}
