import { asLate, lateBefore, withPriority } from '../../../../core/urgency.ts';
import type { BatchStore } from '../../../contract/batches.ts';
import type { Db, Queries } from '../../../db.ts';
import { batchStates } from '../../rows.ts';
import { inLists } from '../../statement.ts';
import { undecided } from '../batches.ts';
import { mayBeRowFault } from './isolate-failures.ts';
import { isBatch, open } from '../queued-work.ts';

/** Reads and changes the places of batches in the queue of their org. */
export function createPlaces(db: Db): Pick<BatchStore, 'setPriority' | 'hurry' | 'queuePlace'> {
  return {
    setPriority: (id, priority) =>
      db.tx(async (q) => {
        const moved = await move(q, id, (due) => withPriority(due, priority));
        if (moved) await q.all('UPDATE batches SET priority = ? WHERE id = ?', [priority, id]);
        return moved;
      }),

    async hurry(now, limit) {
      // Spelled as in the partial index `batches_to_hurry`.
      const lateAt = '(expires_at - (expires_at - created_at) / 4)';
      const found = await db.all<{ id: string }>(
        `SELECT id FROM batches WHERE ${undecided} AND due >= ${lateBefore} AND ${lateAt} <= ? ORDER BY ${lateAt} LIMIT ?`,
        [now, limit],
      );
      const faults: unknown[] = [];
      for (const { id } of found)
        try {
          await db.tx((q) => move(q, id, asLate));
        } catch (error) {
          // Damaged rows of one batch do not hold up the others.
          if (!mayBeRowFault(error)) throw error;
          faults.push(error);
        }
      if (faults.length > 0 && faults.length === found.length) throw faults[0];
      return found.length - faults.length;
    },

    async queuePlace({ id, orgId, due }, models) {
      // An empty list is invalid in Postgres.
      const [list] = inLists(models.length > 0 ? models : ['']);
      const [row] = await db.all<{ ahead: number; weight: number }>(
        `SELECT count(*) AS ahead, COALESCE((SELECT o.weight FROM orgs o WHERE o.id = ?), 1) AS weight FROM batches b
         WHERE org_id = ? AND ${isBatch} AND ${open} AND closing IS NULL AND paused_at IS NULL AND (due < ? OR due = ? AND id < ?)
           AND (model IN ${list!.sql} OR model IS NULL AND EXISTS (
             SELECT 1 FROM batch_chunks c WHERE c.batch_id = b.id AND c.state <> 'done' AND c.model IN ${list!.sql}))`,
        [orgId, orgId, due, due, id, ...list!.params, ...list!.params],
      );
      return row!;
    },
  };
}

/** Moves a batch and the chunks that repeat its `due`, under its lock. False if its end is decided. */
async function move(q: Queries, id: string, to: (due: number) => number): Promise<boolean> {
  const batch = await batchStates.first(q, { id, [undecided]: [] }, q.forUpdate);
  if (!batch) return false;
  const by = to(batch.due) - batch.due;
  if (by === 0) return true;
  await q.all('UPDATE batches SET due = due + ? WHERE id = ?', [by, id]);
  await q.all("UPDATE batch_chunks SET due = due + ? WHERE batch_id = ? AND seq > 0 AND state <> 'done'", [
    by,
    id,
  ]);
  return true;
}
