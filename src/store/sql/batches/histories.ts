import type { HistoryStore, StoredHistory } from '../../contract/histories.ts';
import type { Db } from '../../db.ts';
import { tableOf } from '../table.ts';

const histories = tableOf<StoredHistory>('batch_histories', {
  json: ['points', 'waits'],
  damaged: { points: [], waits: [] },
})('batchId updatedAt intervalMs points waits omittedWaits');

const columns = ['updated_at', 'interval_ms', 'points', 'waits', 'omitted_waits'];

/** Histories of batches, one row each. */
export function createHistories(db: Db): HistoryStore {
  return {
    get: (batchIds) => histories.among(db, 'batch_id', batchIds),

    async put(rows) {
      if (rows.length === 0) return;
      const set = columns.map((name) => `${name} = excluded.${name}`).join(', ');
      await db.tx(async (q) => {
        // Ordered by id: one lock order for all processes.
        const sorted = rows.toSorted((a, b) => (a.batchId < b.batchId ? -1 : 1));
        const newer = 'batch_histories.updated_at <= excluded.updated_at';
        await histories.insert(q, sorted, `ON CONFLICT (batch_id) DO UPDATE SET ${set} WHERE ${newer}`);
      });
    },
  };
}
