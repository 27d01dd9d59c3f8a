import type { BatchStore, ChangingBatch } from '../../../contract/batches.ts';
import type { Db } from '../../../db.ts';
import { batches } from '../../rows.ts';
import { tableOf } from '../../table.ts';
import { running } from '../batches.ts';
import { isBatch, open } from '../queued-work.ts';

const changing = tableOf<ChangingBatch>('batches')(
  'id orgId status ok err priority due closing acceptUntil pausedAt pausedMs atRiskAt inProgressAt expiresAt cancellingAt',
);

/** Reads what changes of unfinished batches, for the processes that present them. */
export function createWatching(
  db: Db,
): Pick<BatchStore, 'listChanging' | 'findMany' | 'createdSince' | 'elsewhere'> {
  return {
    listChanging(limit, after, of = 'open') {
      const where = { [of === 'open' ? open : running]: [], [isBatch]: [], 'id > ?': after };
      return changing.all(db, where, 'ORDER BY id LIMIT ?', [limit]);
    },

    findMany: (ids) => batches.among(db, 'id', ids),

    async createdSince(since, limit) {
      const rows = await db.all<{ id: string }>(
        'SELECT id FROM batches WHERE created_at >= ? ORDER BY created_at DESC, id DESC LIMIT ?',
        [since, limit],
      );
      return rows.map(({ id }) => id);
    },

    async elsewhere(worker) {
      const rows = await db.all<{ batchId: string }>(
        `SELECT DISTINCT batch_id AS "batchId" FROM batch_chunks
         WHERE state = 'leased' AND seq > 0 AND owner <> ? AND batch_id < 'batch~'`,
        [worker],
      );
      return rows.map(({ batchId }) => batchId);
    },
  };
}
