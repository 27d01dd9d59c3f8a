import type { SlotLease } from '../../../core/slot-leases.ts';
import type { WorkerLoad } from '../../../core/worker-load.ts';
import type { WorkerState } from '../../contract/workers.ts';
import type { Db } from '../../db.ts';

/** Reads all processes with their leases. */
export async function listWorkers(db: Db): Promise<WorkerState[]> {
  const rows = await db.all<{ id: string; beatAt: number; load: string }>(
    'SELECT id, beat_at AS "beatAt", load FROM workers ORDER BY id',
  );
  // One row for each leased chunk, some hundreds at most: the index on leased chunks has the owner alone.
  const held = await db.all<{ owner: string; chunks: number; lines: number }>(
    `SELECT owner, count(*) AS chunks, CAST(sum(n) AS bigint) AS lines FROM batch_chunks
     WHERE state = 'leased' AND seq > 0 GROUP BY owner`,
  );
  const models = await db.all<{ model: string; leases: string }>(
    'SELECT model, leases FROM slot_leases ORDER BY model',
  );
  const slots = models.flatMap(({ model, leases }) =>
    (JSON.parse(leases) as SlotLease[]).map(({ worker, slots: count, until }) => ({
      worker,
      lease: { model, slots: count, until },
    })),
  );
  return rows.map(({ id, beatAt, load }) => {
    const { chunks = 0, lines = 0 } = held.find(({ owner }) => owner === id) ?? {};
    return {
      id,
      beatAt,
      load: JSON.parse(load) as WorkerLoad,
      chunks,
      lines,
      slots: slots.filter(({ worker }) => worker === id).map(({ lease }) => lease),
    };
  });
}
