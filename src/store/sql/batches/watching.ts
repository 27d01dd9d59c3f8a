import type { BatchStore, ChangingBatch } from '../../contract/batches.ts';
import type { Db } from '../../db.ts';
import { batches } from '../rows.ts';
import { tableOf } from '../table.ts';
import { isBatch, open } from './queued-work.ts';

/** A process is dead after this time without a heartbeat. */
const lifeMs = 30_000;

const changing = tableOf<ChangingBatch>('batches')(
  'id orgId status ok err priority due closing acceptUntil pausedAt pausedMs atRiskAt inProgressAt expiresAt cancellingAt',
);

/** Reads what changes of unfinished batches, for the processes that present them. */
export function createWatching(db: Db): Pick<BatchStore, 'listChanging' | 'findMany' | 'elsewhere'> {
  return {
    listChanging: (limit, after) =>
      changing.all(db, { [open]: [], [isBatch]: [], 'id > ?': after }, 'ORDER BY id LIMIT ?', [limit]),

    findMany: (ids) => batches.among(db, 'id', ids),

    async elsewhere(worker, now) {
      const [first] = await db.all<{ id: string | null }>(
        'SELECT min(id) AS id FROM workers WHERE beat_at > ?',
        [now - lifeMs],
      );
      const rows = await db.all<{ batchId: string }>(
        `SELECT DISTINCT batch_id AS "batchId" FROM batch_chunks
         WHERE state = 'leased' AND seq > 0 AND owner <> ? AND batch_id < 'batch~'`,
        [worker],
      );
      return { isFirst: (first?.id ?? worker) >= worker, batches: rows.map(({ batchId }) => batchId) };
    },
  };
}
