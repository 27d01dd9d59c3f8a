import type { Db, Queries } from '../../db.ts';
import type { BatchStore } from '../../contract/batches.ts';
import { lockBatch, undecided } from './batches.ts';

/** Finds batches that nobody would ever run to their end, and has them run. */
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
 * A chunk is finished with or after the results of its lines, so of a batch whose every chunk is finished every line has
 * one; unless the database went back behind what it had confirmed. Nor is a chunk held of a batch that is not paused; unless
 * it was given back at the moment in which the batch was resumed. When the window is over, results that come are not taken,
 * and their chunks finish all the same; what has none is then recorded at the end. (Chunk 0 is the closing one.)
 */
const stranded = `${undecided} AND status = 'in_progress' AND paused_at IS NULL AND ok + err < total AND expires_at > ?
  AND NOT EXISTS (
    SELECT 1 FROM batch_chunks c WHERE c.batch_id = batches.id AND c.seq > 0 AND c.state IN ('ready', 'leased'))`;

/** Whoever claims the chunks runs the lines without a result, and no others. */
async function reopen(q: Queries, id: string, now: number): Promise<boolean> {
  await lockBatch(q, id);
  const rows = await q.all(
    `UPDATE batch_chunks SET state = 'ready', owner = NULL
     WHERE seq > 0 AND batch_id IN (SELECT id FROM batches WHERE id = ? AND ${stranded}) RETURNING seq`,
    [id, now],
  );
  return rows.length > 0;
}
