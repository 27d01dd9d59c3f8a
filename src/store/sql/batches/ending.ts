import { type FinalStatus, canMove } from '../../../core/batch.ts';
import type { StoredFile } from '../../../core/file.ts';
import type { Db, Queries } from '../../db.ts';
import type { BatchState, BatchStore } from '../../contract/batches.ts';
import { lockBatch } from './batches.ts';
import { finishChunks } from './chunks.ts';
import { tell } from '../webhooks/deliveries.ts';
import { summarise } from './error-summary.ts';
import { insertFile } from '../files.ts';
import { holdsClosing, openClosing } from './record.ts';
import { mayBeOfRows } from './own-fault.ts';
import { batchColumns } from '../rows.ts';

type Ending = Pick<BatchStore, 'cancel' | 'expire' | 'fail' | 'atRisk' | 'moveWindows' | 'shut' | 'publish'>;

/** How long answers in flight are still taken when a batch fails as a whole. */
const failGraceMs = 2_000;

/** How batches end: `closing` is decided once, by one compare-and-set; the holder of chunk 0 then does the rest. */
export function createEnding(db: Db): Ending {
  return {
    cancel: (orgId, id, now, graceMs) =>
      db.tx(async (q) => {
        const [cancelled] = await q.all(
          `UPDATE batches SET status = 'cancelling', closing = 'cancelled', accept_until = ?, cancelling_at = ?
           WHERE id = ? AND org_id = ? AND ${undecided} RETURNING ${batchColumns.fields}`,
          [now + graceMs, now, id, orgId],
        );
        if (cancelled) {
          await stopChunks(q, id);
          return { began: true, batch: batchColumns.read(cancelled) };
        }
        const [row] = await q.all(`SELECT ${batchColumns.fields} FROM batches WHERE id = ? AND org_id = ?`, [
          id,
          orgId,
        ]);
        return row && { began: false, batch: batchColumns.read(row) };
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
          // What is wrong with one batch keeps no other.
          if (!mayBeOfRows(error)) throw error;
          faults.push(error);
        }
      if (expired.length === 0 && faults.length > 0) throw faults[0];
      return expired;
    },

    fail: (id, fault, now) =>
      db.tx(async (q) => {
        const failed = await q.all(
          `UPDATE batches SET closing = 'failed', errors = ?, accept_until = ? WHERE id = ? AND ${undecided} RETURNING id`,
          [JSON.stringify([fault]), now + failGraceMs, id],
        );
        if (failed.length > 0) await stopChunks(q, id);
        return failed.length > 0;
      }),

    atRisk: (id, now) =>
      db.tx(async (q) => {
        const [batch] = await q.all<{ org_id: string }>(
          `UPDATE batches SET at_risk_at = ? WHERE id = ? AND at_risk_at IS NULL AND ${undecided} RETURNING org_id`,
          [now, id],
        );
        if (batch) await tell(q, batch.org_id, 'batch.at_risk', id, now);
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

    shut: (worker, lease) =>
      db.tx(async (q) => {
        await lockBatch(q, lease.batchId);
        if (!(await holdsClosing(q, worker, lease))) return false;
        await q.all('UPDATE batches SET accept_until = 0 WHERE id = ?', [lease.batchId]);
        return true;
      }),

    publish: (worker, lease, files, now, fault) =>
      db.tx(async (q) => {
        const batch = await lockBatch(q, lease.batchId);
        if (!batch?.closing || !(await holdsClosing(q, worker, lease))) return 'fenced';
        if (!fault && !(await agrees(q, batch))) return 'incomplete';
        if (files.output) await insertFile(q, files.output);
        if (files.errors) await insertFile(q, files.errors);
        const end = fault && canMove(batch.status, 'failed') ? 'failed' : batch.closing;
        if (fault)
          await q.all('UPDATE batches SET closing = ?, errors = ? WHERE id = ?', [
            end,
            JSON.stringify([fault]),
            batch.id,
          ]);
        await finalise(q, batch, end, files, now);
        await finishChunks(q, worker, [lease]);
        await tell(q, batch.orgId, `batch.${end}`, batch.id, now);
        return 'published';
      }),
  };
}

/** False where somebody else is at it, or has decided otherwise. */
async function expireOne(q: Queries, id: string, now: number): Promise<boolean> {
  const free = await q.all(
    `SELECT id FROM batches WHERE id = ? AND ${undecided} AND expires_at <= ? ${q.skip}`,
    [id, now],
  );
  if (free.length === 0) return false;
  await q.all("UPDATE batches SET closing = 'expired' WHERE id = ?", [id]);
  await stopChunks(q, id);
  return true;
}

/** Nobody has decided how the batch ends. */
const undecided = "status IN ('validating', 'in_progress') AND closing IS NULL";

/** Nothing new is claimed; what is leased stays with its owners until they hear of it. */
async function stopChunks(q: Queries, batchId: string): Promise<void> {
  await q.all(
    "UPDATE batch_chunks SET state = 'done' WHERE batch_id = ? AND seq > 0 AND state IN ('ready', 'held')",
    [batchId],
  );
  await openClosing(q, [batchId]);
}

interface Sums {
  outputs: number;
  errors: number;
  input_tokens: number;
  cached_tokens: number;
  output_tokens: number;
}

/** Every line has its result, the counters are the rows, and the ledger is the sum of the outputs. */
async function agrees(q: Queries, batch: BatchState): Promise<boolean> {
  const [rows] = await q.all<Sums>(
    `SELECT count(CASE WHEN stream = 'output' THEN 1 END) AS outputs,
       count(CASE WHEN stream = 'errors' THEN 1 END) AS errors,
       ${sum("CASE WHEN stream = 'output' THEN input_tokens ELSE 0 END")} AS input_tokens,
       ${sum("CASE WHEN stream = 'output' THEN cached_tokens ELSE 0 END")} AS cached_tokens,
       ${sum("CASE WHEN stream = 'output' THEN output_tokens ELSE 0 END")} AS output_tokens
     FROM batch_results WHERE batch_id = ?`,
    [batch.id],
  );
  const [ledger] = await q.all<Sums>(
    `SELECT ${sum('requests')} AS outputs, 0 AS errors, ${sum('input_tokens')} AS input_tokens,
       ${sum('cached_tokens')} AS cached_tokens, ${sum('output_tokens')} AS output_tokens
     FROM usage_ledger WHERE source_id = ?`,
    [batch.id],
  );
  return (
    batch.ok + batch.err === batch.total &&
    rows!.outputs === batch.ok &&
    rows!.errors === batch.err &&
    ledger!.outputs === rows!.outputs &&
    ledger!.input_tokens === rows!.input_tokens &&
    ledger!.cached_tokens === rows!.cached_tokens &&
    ledger!.output_tokens === rows!.output_tokens
  );
}

/** Cast, because sums of big integers are decimals in Postgres. */
function sum(expression: string): string {
  return `CAST(COALESCE(sum(${expression}), 0) AS bigint)`;
}

const instantOf = {
  completed: 'completed_at',
  failed: 'failed_at',
  expired: 'expired_at',
  cancelled: 'cancelled_at',
} as const satisfies Record<FinalStatus, string>;

async function finalise(
  q: Queries,
  batch: BatchState,
  end: FinalStatus,
  files: { output: StoredFile | null; errors: StoredFile | null },
  now: number,
): Promise<void> {
  if (!canMove(batch.status, end))
    throw new Error(`Batch ${batch.id} cannot go from ${batch.status} to ${end}.`);
  await q.all(
    `UPDATE batches SET status = ?, ${instantOf[end]} = ?, output_file_id = ?, error_file_id = ?, error_summary = ?
     WHERE id = ?`,
    [
      end,
      now,
      files.output?.id ?? null,
      files.errors?.id ?? null,
      JSON.stringify(await summarise(q, batch.id)),
      batch.id,
    ],
  );
}
