import { pauseSpan } from '../accounts/budget-waits.ts';
import type { Chunk, LineRef } from '../../../core/batch.ts';
import { lineKey } from '../../../core/request-group.ts';
import type { Db, Queries } from '../../db.ts';
import type { BatchStore } from '../../contract/batches.ts';
import type { Lease } from '../../contract/claim.ts';
import { insertChunks, lockBatch } from './batches.ts';
import { isBatch } from './queued-work.ts';
import { chunks, toChunk } from '../rows.ts';
import { recordedLines } from './recording/recorded-lines.ts';
import { slices, typedTuples } from '../statement.ts';

type Chunks = Pick<BatchStore, 'release' | 'split' | 'minKills' | 'pause' | 'resume'>;

/** Releases, splits and pauses chunks; `claiming/claim.ts` claims them. */
export function createChunks(db: Db): Chunks {
  return {
    release: (worker, leases) => db.tx((q) => releaseLeases(q, worker, leases)),

    split: (worker, lease) =>
      db.tx(async (q) => {
        const batch = await lockBatch(q, lease.batchId);
        const suspect = batch && (await findLeased(q, worker, lease));
        if (!suspect) return false;
        await finishChunks(q, worker, [lease]);
        if (batch.closing !== null) return true;
        const [left] = await withoutRecorded(q, [suspect]);
        const state = batch.pausedAt === null ? 'ready' : 'held';
        if (left) await insertChunks(q, batch, singles(left, await lastSeq(q, lease.batchId)), state);
        return true;
      }),

    async minKills(id) {
      const [row] = await db.all<{ kills: number | null }>(
        "SELECT min(kills) AS kills FROM batch_chunks WHERE batch_id = ? AND state = 'ready' AND seq > 0",
        [id],
      );
      return row!.kills;
    },

    pause: (orgId, id, now) => setPaused(db, { orgId, id, now, from: 'ready', to: 'held' }),
    resume: (orgId, id, now) => setPaused(db, { orgId, id, now, from: 'held', to: 'ready' }),
  };
}

/** Models of ready chunks, by a skip scan of the index. */
export async function readyModels(q: Queries): Promise<string[]> {
  const next = "SELECT min(c.model) FROM batch_chunks c WHERE c.state = 'ready' AND c.seq > 0";
  const rows = await q.all<{ model: string }>(
    `WITH RECURSIVE found(model) AS (
       SELECT (${next}) UNION ALL SELECT (${next} AND c.model > found.model) FROM found WHERE model IS NOT NULL)
     SELECT model FROM found WHERE model IS NOT NULL`,
  );
  return rows.map((row) => row.model);
}

function setPaused(
  db: Db,
  { orgId, id, now, from, to }: { orgId: string; id: string; now: number; from: string; to: string },
): Promise<boolean> {
  const change =
    to === 'held'
      ? 'SET paused_at = ? WHERE paused_at IS NULL'
      : `SET paused_ms = paused_ms + ${pauseSpan}, paused_at = NULL WHERE paused_at IS NOT NULL`;
  return db.tx(async (q) => {
    const changed = await q.all(
      `UPDATE batches ${change} AND id = ? AND org_id = ? AND ${isBatch} AND closing IS NULL RETURNING id`,
      [now, id, orgId],
    );
    if (changed.length > 0)
      await q.all('UPDATE batch_chunks SET state = ? WHERE batch_id = ? AND seq > 0 AND state = ?', [
        to,
        id,
        from,
      ]);
    return changed.length > 0;
  });
}

/**
 * SQL: state of a chunk without an owner: ready, unless its batch is paused or ending. Reads the batch without a lock; the next claim
 * corrects a wrong `ready`.
 */
export const idleState = `CASE WHEN batch_chunks.seq = 0 THEN 'ready' ELSE (
  SELECT CASE WHEN b.closing IS NOT NULL THEN 'done' WHEN b.paused_at IS NOT NULL THEN 'held' ELSE 'ready' END
  FROM batches b WHERE b.id = batch_chunks.batch_id) END`;

/** Leases those chunks of locked batches that are still ready. */
export async function leaseChunks(
  q: Queries,
  worker: string,
  chosen: readonly { batchId: string; seq: number }[],
): Promise<Chunk[]> {
  const leased: Chunk[] = [];
  for (const slice of slices(chosen, 256)) {
    const rows = await q.all(
      `WITH chosen(of_batch, place) AS (VALUES ${typedTuples(slice.length, ['text', 'integer'])})
       UPDATE batch_chunks SET state = 'leased', owner = ?, epoch = epoch + 1 FROM chosen
       WHERE batch_id = chosen.of_batch AND seq = chosen.place AND state = 'ready'
       RETURNING ${chunks.fields}`,
      [...slice.flatMap(({ batchId, seq }) => [batchId, seq]), worker],
    );
    leased.push(...rows.map((row) => toChunk(chunks.read(row))));
  }
  return leased.toSorted(byChunk);
}

/** Removes lines with a result from leased chunks, and finishes chunks without further lines. */
export async function withoutRecorded(q: Queries, leased: readonly Chunk[]): Promise<Chunk[]> {
  // Chunks claimed for the first time have no results.
  const again = leased.filter(({ epoch, kills }) => epoch > 1 || kills > 0);
  const lines = again.flatMap(({ batchId, lines: refs }) => refs.map(({ line }) => ({ batchId, line })));
  const recorded = await recordedLines(q, lines);
  const remaining: Chunk[] = [];
  const finished: Chunk[] = [];
  for (const chunk of leased) {
    const open = chunk.lines.filter(({ line }) => !recorded.has(lineKey({ batchId: chunk.batchId, line })));
    const est = Math.ceil((chunk.est * open.length) / chunk.lines.length);
    if (open.length > 0) remaining.push({ ...chunk, lines: open, est });
    else finished.push(chunk);
  }
  for (const { batchId, seq } of finished)
    await q.all("UPDATE batch_chunks SET state = 'done' WHERE batch_id = ? AND seq = ?", [batchId, seq]);
  return remaining;
}

/** Locks and returns the chunk if `worker` still holds the lease. */
export async function findLeased(q: Queries, worker: string, lease: Lease): Promise<Chunk | undefined> {
  const { batchId, seq, epoch } = lease;
  const found = await chunks.first(q, { batchId, seq, epoch, owner: worker, state: 'leased' }, q.forUpdate);
  return found && toChunk(found);
}

/** Finishes chunks still leased by `worker`. */
export async function finishChunks(q: Queries, worker: string, leases: readonly Lease[]): Promise<void> {
  await moveLeased(q, worker, leases, "'done'");
}

/** Releases chunks still leased by `worker`. Returns their number. */
export function releaseLeases(q: Queries, worker: string, leases: readonly Lease[]): Promise<number> {
  return moveLeased(q, worker, leases.toSorted(byChunk), idleState);
}

async function moveLeased(
  q: Queries,
  worker: string,
  leases: readonly Lease[],
  state: string,
): Promise<number> {
  let moved = 0;
  for (const slice of slices(leases, 256)) {
    const rows = await q.all(
      `WITH given(batch_id, seq, epoch) AS (
         VALUES ${typedTuples(slice.length, ['text', 'integer', 'integer'])})
       UPDATE batch_chunks SET state = ${state}, owner = NULL FROM given
       WHERE batch_chunks.batch_id = given.batch_id AND batch_chunks.seq = given.seq AND state = 'leased'
         AND batch_chunks.epoch = given.epoch AND owner = ? RETURNING 1 AS one`,
      [...slice.flatMap(({ batchId, seq, epoch }) => [batchId, seq, epoch]), worker],
    );
    moved += rows.length;
  }
  return moved;
}

/** Lock order of chunks. */
function byChunk(a: Lease, b: Lease): number {
  return (a.batchId === b.batchId ? 0 : a.batchId < b.batchId ? -1 : 1) || a.seq - b.seq;
}

async function lastSeq(q: Queries, batchId: string): Promise<number> {
  const [row] = await q.all<{ last: number }>(
    'SELECT max(seq) AS last FROM batch_chunks WHERE batch_id = ?',
    [batchId],
  );
  return row!.last;
}

function singles(chunk: Chunk, last: number): Chunk[] {
  const est = Math.ceil(chunk.est / chunk.lines.length);
  return chunk.lines.map((line: LineRef, i) => ({
    ...chunk,
    seq: last + 1 + i,
    lines: [line],
    est,
    epoch: 0,
  }));
}
