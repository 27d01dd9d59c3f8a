import { closeModel } from '../../core/batch.ts';
import type { BatchStatus, Chunk, LineRef } from '../../core/batch.ts';
import type { Db, Queries } from '../db.ts';
import type { BatchState, BatchStore, Candidate, Lease } from '../store.ts';
import { insertChunks, lockBatch } from './batches.ts';
import { toChunk, unpackLines } from './rows.ts';
import type { ChunkRow } from './rows.ts';
import { recordedLines } from './recorded-lines.ts';
import { slices, tuples, typedTuples } from './statement.ts';

type Chunks = Pick<BatchStore, 'candidates' | 'claim' | 'release' | 'split' | 'running'>;

/** The queue: which chunks may be had, and who has them (batch-engine.md, "Choosing and claiming"). */
export function createChunks(db: Db): Chunks {
  return {
    async candidates(models, limit) {
      const lines = models.filter((model) => model !== closeModel);
      const found = lines.length > 0 ? await linesToRun(db, lines, limit) : [];
      if (lines.length < models.length) found.push(...(await batchesToClose(db, limit)));
      return found.toSorted(byUrgency).slice(0, limit);
    },

    claim: (worker, batchId, model, count, now, mostKills = 2 ** 31 - 1) =>
      db.tx(async (q) => {
        const batch = await lockBatch(q, batchId);
        if (!batch || !mayClaim(batch, model)) return [];
        if (batch.status === 'validating' && model !== closeModel) await beginBatch(q, batchId, now);
        const leased = (await leaseChunks(q, worker, { batchId, model, count, mostKills })).map(toChunk);
        return model === closeModel ? leased : withoutRecorded(q, batchId, leased);
      }),

    release: (worker, leases) => db.tx((q) => releaseLeases(q, worker, leases)),

    split: (worker, lease) =>
      db.tx(async (q) => {
        const batch = await lockBatch(q, lease.batchId);
        const suspect = batch && (await findLeased(q, worker, lease));
        if (!suspect) return false;
        await finishChunks(q, worker, [lease]);
        const [left] = await withoutRecorded(q, lease.batchId, [suspect]);
        if (left) await insertChunks(q, singles(left, await lastSeq(q, lease.batchId)), 'ready');
        return true;
      }),

    running: (id) =>
      db.tx(async (q) => {
        const leased = await q.all<{ lines: string }>(
          `SELECT lines FROM batch_chunks WHERE batch_id = ? AND state = 'leased'`,
          [id],
        );
        const lines = leased.flatMap((row) =>
          unpackLines(row.lines).map(({ line }) => ({ batchId: id, line })),
        );
        return lines.length - (await recordedLines(q, lines)).size;
      }),
  };
}

/** Models named by ready chunks of unfinished batches; it reads all of those. */
export async function readyModels(q: Queries): Promise<string[]> {
  const rows = await q.all<{ model: string }>(
    `SELECT DISTINCT c.model FROM batches b JOIN batch_chunks c ON c.batch_id = b.id
     WHERE b.status IN ('validating', 'in_progress') AND b.closing IS NULL AND c.state = 'ready'
     ORDER BY c.model`,
  );
  return rows.map((row) => row.model).filter((model) => model !== closeModel);
}

interface CandidateRow {
  id: string;
  org_id: string;
  due: number;
  status: BatchStatus;
  model: string;
}

function toCandidate(row: CandidateRow): Candidate {
  return { batchId: row.id, orgId: row.org_id, due: row.due, status: row.status, model: row.model };
}

function byUrgency(a: Candidate, b: Candidate): number {
  return a.due - b.due || order(a.batchId, b.batchId) || order(a.model, b.model);
}

function order(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** (`EXISTS` would be a join: see `statement.ts`.) */
async function linesToRun(q: Queries, models: string[], limit: number): Promise<Candidate[]> {
  const rows = await q.all<CandidateRow>(
    `WITH m(model) AS (VALUES ${tuples(models.length, 1)})
     SELECT b.id, b.org_id, b.due, b.status, m.model FROM batches b CROSS JOIN m
     WHERE b.status IN ('validating', 'in_progress') AND b.closing IS NULL AND (
       SELECT 1 FROM batch_chunks c WHERE c.batch_id = b.id AND c.model = m.model AND c.state = 'ready' LIMIT 1) = 1
     ORDER BY b.due, b.id LIMIT ?`,
    [...models, limit],
  );
  return rows.map(toCandidate);
}

async function batchesToClose(q: Queries, limit: number): Promise<Candidate[]> {
  const rows = await q.all<CandidateRow>(
    `SELECT b.id, b.org_id, b.due, b.status, ? AS model FROM batches b
     WHERE b.closing IS NOT NULL AND b.status IN ('validating', 'in_progress', 'cancelling') AND EXISTS (
       SELECT 1 FROM batch_chunks c WHERE c.batch_id = b.id AND c.seq = 0 AND c.state = 'ready')
     ORDER BY b.due, b.id LIMIT ?`,
    [closeModel, limit],
  );
  return rows.map(toCandidate);
}

function mayClaim(batch: BatchState, model: string): boolean {
  if (model === closeModel) return batch.closing !== null;
  return batch.closing === null && (batch.status === 'validating' || batch.status === 'in_progress');
}

async function beginBatch(q: Queries, id: string, now: number): Promise<void> {
  await q.all("UPDATE batches SET status = 'in_progress', in_progress_at = ? WHERE id = ?", [now, id]);
}

/** Those whose owners died least come first, so that deaths in quick succession do not hit the same lines every time. */
async function leaseChunks(
  q: Queries,
  worker: string,
  wanted: { batchId: string; model: string; count: number; mostKills: number },
) {
  const { batchId, model, count, mostKills } = wanted;
  const rows = await q.all<ChunkRow>(
    `WITH pick AS MATERIALIZED (
       SELECT seq FROM batch_chunks WHERE batch_id = ? AND model = ? AND kills <= ? AND state = 'ready'
       ORDER BY kills, seq LIMIT ? ${q.skip})
     UPDATE batch_chunks SET state = 'leased', owner = ?, epoch = epoch + 1
     WHERE batch_id = ? AND seq IN (SELECT seq FROM pick)
     RETURNING batch_id, seq, model, prefix, lines, est, epoch, kills`,
    [batchId, model, mostKills, count, worker, batchId],
  );
  return rows.toSorted((a, b) => a.seq - b.seq);
}

/** The chunks with only the lines that have no result yet; those that have none left are done. */
async function withoutRecorded(q: Queries, batchId: string, chunks: Chunk[]): Promise<Chunk[]> {
  const lines = chunks.flatMap((chunk) => chunk.lines.map(({ line }) => ({ batchId, line })));
  const recorded = await recordedLines(q, lines);
  if (recorded.size === 0) return chunks;
  const left: Chunk[] = [];
  for (const chunk of chunks) {
    const open = chunk.lines.filter(({ line }) => !recorded.has(batchId, line));
    if (open.length > 0) left.push({ ...chunk, lines: open });
    else
      await q.all("UPDATE batch_chunks SET state = 'done' WHERE batch_id = ? AND seq = ?", [
        batchId,
        chunk.seq,
      ]);
  }
  return left;
}

/** The chunk, if `worker` still holds this lease. */
export async function findLeased(q: Queries, worker: string, lease: Lease): Promise<Chunk | undefined> {
  const [row] = await q.all<ChunkRow>(
    `SELECT batch_id, seq, model, prefix, lines, est, epoch, kills FROM batch_chunks
     WHERE batch_id = ? AND seq = ? AND epoch = ? AND owner = ? AND state = 'leased'`,
    [lease.batchId, lease.seq, lease.epoch, worker],
  );
  return row && toChunk(row);
}

/** Leases that are no longer `worker`'s are passed over. */
export async function finishChunks(q: Queries, worker: string, leases: readonly Lease[]): Promise<void> {
  for (const slice of slices(leases, 256))
    await q.all(
      `WITH finished(batch_id, seq, epoch) AS (VALUES ${typedTuples(slice.length, ['text', 'integer', 'integer'])})
       UPDATE batch_chunks SET state = 'done', owner = NULL FROM finished
       WHERE batch_chunks.batch_id = finished.batch_id AND batch_chunks.seq = finished.seq
         AND batch_chunks.epoch = finished.epoch AND owner = ? AND state = 'leased'`,
      [...slice.flatMap(({ batchId, seq, epoch }) => [batchId, seq, epoch]), worker],
    );
}

export async function releaseLeases(q: Queries, worker: string, leases: readonly Lease[]): Promise<number> {
  let released = 0;
  for (const { batchId, seq, epoch } of leases.toSorted(byChunk)) {
    const rows = await q.all(
      `UPDATE batch_chunks SET state = 'ready', owner = NULL
       WHERE batch_id = ? AND seq = ? AND epoch = ? AND owner = ? AND state = 'leased' RETURNING seq`,
      [batchId, seq, epoch, worker],
    );
    released += rows.length;
  }
  return released;
}

/** One order for all who lock several chunks. */
function byChunk(a: Lease, b: Lease): number {
  return order(a.batchId, b.batchId) || a.seq - b.seq;
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
