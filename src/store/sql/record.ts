import { utcDay } from '../../base/clock.ts';
import type { ResultStream } from '../../core/batch.ts';
import { addUsage, noUsage } from '../../core/usage.ts';
import type { Db, Queries } from '../db.ts';
import type { BatchState, Lease, LedgerRow, LineResult, RecordOutcome, ResultStore } from '../store.ts';
import { lockBatch } from './batches.ts';
import { findLeased, finishChunks, recordedLines } from './chunks.ts';
import { addToLedger } from './ledger.ts';
import { slices, tuples } from './statement.ts';

type Recording = Pick<ResultStore, 'record' | 'recordMissing'>;

/**
 * Recording (batch-engine.md): the lock on the batch row makes one flush at a time, so the counters it carries are exact
 * and number the rows without gaps, in the order of the commits.
 */
export function createRecording(db: Db): Recording {
  return {
    record: (worker, results, finished, now) =>
      db.tx(async (q) => {
        const outcomes: RecordOutcome[] = [];
        const resultsOf = Map.groupBy(results, (result) => result.batchId);
        const finishedOf = Map.groupBy(finished, (lease) => lease.batchId);
        // Sorted, so that two flushes lock the same batches in the same order.
        for (const batchId of [...new Set([...resultsOf.keys(), ...finishedOf.keys()])].toSorted()) {
          const batch = await lockBatch(q, batchId);
          const closed = !batch || !accepts(batch, now);
          const kept = closed ? 0 : await keep(q, batch, resultsOf.get(batchId) ?? [], now);
          await finishChunks(q, worker, finishedOf.get(batchId) ?? []);
          outcomes.push({ batchId, kept, closed });
        }
        return outcomes;
      }),

    recordMissing: (worker, lease, results, now) =>
      db.tx(async (q) => {
        const batch = await lockBatch(q, lease.batchId);
        if (!batch || !(await holdsClosing(q, worker, lease))) return false;
        await keep(q, batch, results, now);
        return true;
      }),
  };
}

/** Whether `worker` is the one that closes the batch. */
export async function holdsClosing(q: Queries, worker: string, lease: Lease): Promise<boolean> {
  return lease.seq === 0 && (await findLeased(q, worker, lease)) !== undefined;
}

function accepts(batch: BatchState, now: number): boolean {
  return (batch.status === 'in_progress' || batch.status === 'cancelling') && batch.acceptUntil > now;
}

/** Writes the results of lines that have none yet, counts and bills them. Returns how many. */
async function keep(q: Queries, batch: BatchState, results: LineResult[], now: number): Promise<number> {
  const known = await recordedLines(
    q,
    batch.id,
    results.map((result) => result.line),
  );
  const fresh = results.filter(({ line }) => !known.has(line) && known.add(line));
  if (fresh.length === 0) return 0;
  const count: Record<ResultStream, number> = { output: batch.ok, errors: batch.err };
  await insertResults(
    q,
    fresh.map((result) => ({ ...result, n: ++count[result.stream] })),
  );
  const complete = batch.closing === null && count.output + count.errors >= batch.total;
  await q.all('UPDATE batches SET ok = ?, err = ?, closing = ? WHERE id = ?', [
    count.output,
    count.errors,
    complete ? 'completed' : batch.closing,
    batch.id,
  ]);
  if (complete) await openClosing(q, batch.id);
  await addToLedger(q, bill(batch, fresh, utcDay(now)));
  return fresh.length;
}

async function insertResults(q: Queries, results: (LineResult & { n: number })[]): Promise<void> {
  for (const slice of slices(results))
    await q.all(
      `INSERT INTO batch_results
         (batch_id, line, stream, n, model, input_tokens, cached_tokens, output_tokens, attempts, code, body)
       VALUES ${tuples(slice.length, 11)}`,
      slice.flatMap(({ batchId, line, stream, n, model, usage, attempts, code, body }) => [
        batchId,
        line,
        stream,
        n,
        model,
        usage.inputTokens,
        usage.cachedTokens,
        usage.outputTokens,
        attempts,
        code,
        body,
      ]),
    );
}

/** Lets somebody close the batch. */
export async function openClosing(q: Queries, batchId: string): Promise<void> {
  await q.all("UPDATE batch_chunks SET state = 'ready' WHERE batch_id = ? AND seq = 0 AND state = 'held'", [
    batchId,
  ]);
}

/** Only lines with an output are paid for. */
function bill(batch: BatchState, results: LineResult[], day: string): LedgerRow[] {
  const paid = Map.groupBy(
    results.filter((result) => result.stream === 'output'),
    (result) => result.model,
  );
  return [...paid].map(([model, lines]) => ({
    sourceId: batch.id,
    orgId: batch.orgId,
    model,
    day,
    requests: lines.length,
    usage: lines.reduce((sum, line) => addUsage(sum, line.usage), noUsage),
    amount: null,
  }));
}
