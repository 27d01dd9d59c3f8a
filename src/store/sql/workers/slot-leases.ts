import {
  leaseSlots,
  type SlotLeaseRequest,
  type SlotLease,
  type LeasedShare,
} from '../../../core/slot-leases.ts';
import type { Db, Queries } from '../../db.ts';

/** Renews the leases of a process. The row of a model is the lock for its leases. */
export function leaseSlotsOf(
  db: Db,
  worker: string,
  asks: Record<string, SlotLeaseRequest>,
  now: number,
): Promise<Record<string, LeasedShare>> {
  return db.tx(async (q) => {
    const shares: Record<string, LeasedShare> = {};
    for (const model of Object.keys(asks).toSorted()) {
      const renewed = leaseSlots(await locked(q, model), worker, asks[model]!, now);
      await q.all('UPDATE slot_leases SET leases = ? WHERE model = ?', [
        JSON.stringify(renewed.leases),
        model,
      ]);
      shares[model] = renewed.share;
    }
    return shares;
  });
}

async function locked(q: Queries, model: string): Promise<SlotLease[]> {
  const read = () =>
    q.all<{ leases: string }>(`SELECT leases FROM slot_leases WHERE model = ? ${q.forUpdate}`, [model]);
  let [row] = await read();
  if (!row) {
    await q.all("INSERT INTO slot_leases (model, leases) VALUES (?, '[]') ON CONFLICT (model) DO NOTHING", [
      model,
    ]);
    [row] = await read();
  }
  return JSON.parse(row!.leases) as SlotLease[];
}
