import {
  leaseSlots,
  type SlotLeaseRequest,
  type SlotLease,
  type LeasedShare,
} from '../../../core/slot-leases.ts';
import type { Db, Queries } from '../../db.ts';
import { allIn, slices, tuples, typedTuples } from '../statement.ts';

/**
 * Renews the leases of a process. The row of a model is the lock for its leases. All rows are read and written by one statement each, so
 * that the other processes wait no longer for many models than for one.
 */
export async function leaseSlotsOf(
  db: Db,
  worker: string,
  asks: Record<string, SlotLeaseRequest>,
  now: number,
): Promise<Record<string, LeasedShare>> {
  const models = Object.keys(asks).toSorted();
  if (models.length === 0) return {};
  return db.tx(async (q) => {
    const leases = await locked(q, models);
    const renewed = models.map((model) => ({
      model,
      ...leaseSlots(leases.get(model)!, worker, asks[model]!, now),
    }));
    for (const slice of slices(renewed))
      await q.all(
        `WITH renewed(of_model, all_leases) AS (VALUES ${typedTuples(slice.length, ['text', 'text'])})
         UPDATE slot_leases SET leases = renewed.all_leases FROM renewed WHERE model = renewed.of_model`,
        slice.flatMap((each) => [each.model, JSON.stringify(each.leases)]),
      );
    return Object.fromEntries(renewed.map(({ model, share }) => [model, share]));
  });
}

/** Locks the rows of models in their order, and returns their leases. */
async function locked(q: Queries, models: readonly string[]): Promise<Map<string, SlotLease[]>> {
  const read = async () => {
    const text = (list: string) =>
      `SELECT model, leases FROM slot_leases WHERE model IN ${list} ORDER BY model ${q.forUpdate}`;
    const rows = await allIn<{ model: string; leases: string }>(q, models, text);
    return new Map(rows.map(({ model, leases }) => [model, JSON.parse(leases) as SlotLease[]]));
  };
  const found = await read();
  const missing = models.filter((model) => !found.has(model));
  if (missing.length === 0) return found;
  await q.all(
    `INSERT INTO slot_leases (model, leases) VALUES ${tuples(missing.length, 2)} ON CONFLICT (model) DO NOTHING`,
    missing.flatMap((model) => [model, '[]']),
  );
  return read();
}
