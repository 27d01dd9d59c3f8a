import type { Db, Queries } from '../../../db.ts';
import type { BatchStore } from '../../../contract/batches.ts';
import { lockBatch, undecided } from '../batches.ts';

/** Makes chunks of stranded batches ready again. */
export function createReopening(db: Db): Pick<BatchStore, 'reopen'> {
  return {
    async reopen(now, limit) {
      const found = await db.all<{ id: string }>(
        `SELECT id FROM batches WHERE ${stranded} ORDER BY id LIMIT ?`,
        [now, limit],
      );
      const reopened: string[] = [];
      for (const { id } of found) if (await db.tx((q) => reopen(q, id, now))) reopened.push(id);
      return reopened;
    },
  };
}

/**
 * SQL: batches with missing results but no open chunk. Chunks finish with or after their results, so a database must have lost
 * confirmed commits, or a chunk was released as held just as its batch was resumed. After the window, missing results are normal:
 * late results are dropped, and closing records the missing ones. Chunk 0 is the closing chunk.
 */
const stranded = `${undecided} AND status = 'in_progress' AND paused_at IS NULL AND ok + err < total AND expires_at > ?
  AND NOT EXISTS (
    SELECT 1 FROM batch_chunks c WHERE c.batch_id = batches.id AND c.seq > 0 AND c.state IN ('ready', 'leased'))`;

/** Claims of the chunks then run only lines without a result. */
async function reopen(q: Queries, id: string, now: number): Promise<boolean> {
  await lockBatch(q, id);
  const rows = await q.all(
    `UPDATE batch_chunks SET state = 'ready', owner = NULL
     WHERE seq > 0 AND batch_id IN (SELECT id FROM batches WHERE id = ? AND ${stranded}) RETURNING seq`,
    [id, now],
  );
  return rows.length > 0;
}
