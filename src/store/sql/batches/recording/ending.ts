import { isDeepStrictEqual } from 'node:util';
import { type Batch, type FinalStatus, canTransition } from '../../../../core/batch.ts';
import type { StoredFile } from '../../../../core/file.ts';
import type { Db, Queries } from '../../../db.ts';
import type { BatchState, BatchStore } from '../../../contract/batches.ts';
import { lockBatch, undecided } from '../batches.ts';
import { finishChunks } from '../chunks.ts';
import { isGroup } from '../../../../core/request-group.ts';
import { addEvent } from '../../webhooks/deliveries.ts';
import { summarise } from './error-summary.ts';
import { holdsClosingLease, readyToClose } from './record.ts';
import { mayBeRowFault } from '../claiming/isolate-failures.ts';
import { insertFiles } from '../../files.ts';
import { isBatch } from '../queued-work.ts';
import { batches, batchStates } from '../../rows.ts';

type Ending = Pick<
  BatchStore,
  'cancel' | 'expire' | 'fail' | 'markAtRisk' | 'moveWindows' | 'closeGate' | 'publish'
>;

/** Time in which a failed batch still accepts answers in flight. */
const failGraceMs = 2_000;

/** Ends batches: one compare-and-set decides `closing`, then the owner of chunk 0 finishes the batch. */
export function createEnding(db: Db): Ending {
  return {
    cancel: (orgId, id, now, graceMs) =>
      db.tx(async (q) => {
        const set = {
          status: 'cancelling',
          closing: 'cancelled',
          acceptUntil: now + graceMs,
          cancellingAt: now,
        } as const;
        const [cancelled] = await batches.update(q, set, { id, orgId, [isBatch]: [], [undecided]: [] });
        if (cancelled) await stopChunks(q, id);
        const batch = cancelled ?? (await batches.first(q, { id, orgId, [isBatch]: [] }));
        return batch && { began: cancelled !== undefined, batch };
      }),

    async expire(now, limit) {
      const due = await db.all<{ id: string }>(
        `SELECT id FROM batches WHERE ${undecided} AND expires_at <= ? ORDER BY expires_at, id LIMIT ?`,
        [now, limit],
      );
      const expired: string[] = [];
      const faults: unknown[] = [];
      for (const { id } of due)
        try {
          if (await db.tx((q) => expireOne(q, id, now))) expired.push(id);
        } catch (error) {
          // Damaged rows of one batch do not stop the others.
          if (!mayBeRowFault(error)) throw error;
          faults.push(error);
        }
      if (expired.length === 0 && faults.length > 0) throw faults[0];
      return expired;
    },

    fail: (id, fault, now) =>
      db.tx(async (q) => {
        const set = { closing: 'failed' as const, errors: [fault], acceptUntil: now + failGraceMs };
        const failed = await batches.change(q, set, { id, [undecided]: [] });
        if (failed > 0) await stopChunks(q, id);
        return failed > 0;
      }),

    markAtRisk: (id, now) =>
      db.tx(async (q) => {
        const where = { id, atRiskAt: null, [undecided]: [] };
        const [batch] = await batchStates.update(q, { 'at_risk_at = ?': now }, where);
        if (batch) await addEvent(q, batch.orgId, 'batch.at_risk', id, now);
        return batch !== undefined;
      }),

    moveWindows: (by) =>
      db.tx(async (q) => {
        const moved = await q.all(
          `UPDATE batches SET expires_at = expires_at + ?, due = due + ?,
             accept_until = CASE WHEN accept_until = 0 THEN 0 ELSE accept_until + ? END,
             paused_ms = CASE WHEN paused_at IS NULL THEN paused_ms + ? ELSE paused_ms END
           WHERE status IN ('validating', 'in_progress', 'cancelling') RETURNING id`,
          [by, by, by, by],
        );
        await q.all("UPDATE batch_chunks SET due = due + ? WHERE state <> 'done'", [by]);
        await q.all('UPDATE webhook_deliveries SET due_at = due_at + ? WHERE due_at IS NOT NULL', [by]);
        return moved.length;
      }),

    closeGate: (worker, lease) =>
      db.tx(async (q) => {
        await lockBatch(q, lease.batchId);
        if (!(await holdsClosingLease(q, worker, lease))) return false;
        await q.all('UPDATE batches SET accept_until = 0 WHERE id = ?', [lease.batchId]);
        return true;
      }),

    publish: (worker, lease, written, now, fault) =>
      db.tx(async (q) => {
        const batch = await lockBatch(q, lease.batchId);
        if (!batch?.closing || !(await holdsClosingLease(q, worker, lease))) return 'fenced';
        if (!fault && !(await agrees(q, batch))) return 'incomplete';
        await insertFiles(
          q,
          [written.output, written.errors].filter((file) => file !== null),
        );
        const end = fault && canTransition(batch.status, 'failed') ? 'failed' : batch.closing;
        if (fault) await batches.change(q, { closing: end, errors: [fault] }, { id: batch.id });
        await finalise(q, batch, end, written, now);
        await finishChunks(q, worker, [lease]);
        if (!isGroup(batch.id)) await addEvent(q, batch.orgId, `batch.${end}`, batch.id, now);
        return 'published';
      }),
  };
}

/** False if the batch is locked, or its end is decided. */
async function expireOne(q: Queries, id: string, now: number): Promise<boolean> {
  const free = await q.all(
    `SELECT id FROM batches WHERE id = ? AND ${undecided} AND expires_at <= ? ${q.skipLocked}`,
    [id, now],
  );
  if (free.length === 0) return false;
  await q.all("UPDATE batches SET closing = 'expired' WHERE id = ?", [id]);
  await stopChunks(q, id);
  return true;
}

/** Stops claims. Leased chunks stay with their owners until those notice the end. */
async function stopChunks(q: Queries, batchId: string): Promise<void> {
  await q.all(
    "UPDATE batch_chunks SET state = 'done' WHERE batch_id = ? AND seq > 0 AND state IN ('ready', 'held')",
    [batchId],
  );
  await readyToClose(q, [batchId]);
}

interface Sums {
  outputs: number;
  errors: number;
  input: number;
  cached: number;
  output: number;
}

/** True if every line has a result, and counters and the ledger match the results. */
async function agrees(q: Queries, batch: BatchState): Promise<boolean> {
  const ofOutputs = (what: string) => sum(`CASE WHEN stream = 'output' THEN ${what} ELSE 0 END`);
  const [rows] = await q.all<Sums>(
    `SELECT ${ofOutputs('1')} AS outputs, ${sum("CASE WHEN stream = 'errors' THEN 1 ELSE 0 END")} AS errors,
       ${ofOutputs('input_tokens')} AS input, ${ofOutputs('cached_tokens')} AS cached, ${ofOutputs('output_tokens')} AS output
     FROM batch_results WHERE batch_id = ?`,
    [batch.id],
  );
  if (batch.ok + batch.err !== batch.total || rows!.outputs !== batch.ok || rows!.errors !== batch.err)
    return false;
  // The ledger adds the requests of all groups of a key.
  if (isGroup(batch.id)) return true;
  const [billed] = await q.all<Sums>(
    `SELECT ${sum('requests')} AS outputs, CAST(? AS integer) AS errors,
       ${sum('input_tokens')} AS input, ${sum('cached_tokens')} AS cached, ${sum('output_tokens')} AS output
     FROM usage_ledger WHERE source_id = ?`,
    [batch.err, batch.id],
  );
  return isDeepStrictEqual(rows, billed);
}

/** Casts, because sums of bigints are decimals in Postgres. */
function sum(expression: string): string {
  return `CAST(COALESCE(sum(${expression}), 0) AS bigint)`;
}

const instantOf = {
  completed: 'completedAt',
  failed: 'failedAt',
  expired: 'expiredAt',
  cancelled: 'cancelledAt',
} as const satisfies Record<FinalStatus, keyof Batch>;

async function finalise(
  q: Queries,
  batch: BatchState,
  end: FinalStatus,
  written: { output: StoredFile | null; errors: StoredFile | null },
  now: number,
): Promise<void> {
  if (!canTransition(batch.status, end))
    throw new Error(`Batch ${batch.id} cannot go from ${batch.status} to ${end}.`);
  const set = {
    status: end,
    [instantOf[end]]: now,
    outputFileId: written.output?.id ?? null,
    errorFileId: written.errors?.id ?? null,
    errorSummary: JSON.stringify(await summarise(q, batch.id)),
  };
  await batches.change(q, set, { id: batch.id });
}
