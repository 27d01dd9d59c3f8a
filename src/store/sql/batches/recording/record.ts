import { utcHour } from '../../../../base/clock.ts';
import type { ResultStream } from '../../../../core/batch.ts';
import type { LineRun } from '../../../../core/line.ts';
import { addCosts, noCost } from '../../../../core/price.ts';
import { isGroup, lineKey } from '../../../../core/request-group.ts';
import { singlesOf } from '../../../../core/usage-report.ts';
import { addUsage, noUsage, type Usage } from '../../../../core/usage.ts';
import type { Db, Queries } from '../../../db.ts';
import type { LedgerEntry } from '../../../contract/accounts.ts';
import type { BatchState } from '../../../contract/batches.ts';
import type { Lease } from '../../../contract/claim.ts';
import type { LineResult, RecordOutcome, ResultStore } from '../../../contract/results.ts';
import { lockBatch } from '../batches.ts';
import { findLeased, finishChunks } from '../chunks.ts';
import { addToLedger } from '../../accounts/ledger-rows.ts';
import { recordedLines } from './recorded-lines.ts';
import { insertAnswers } from '../../responses/answer-rows.ts';
import { batchStates } from '../../rows.ts';
import { allIn, slices, typedTuples } from '../../statement.ts';
import { tableOf } from '../../table.ts';

/**
 * Records results. The lock on the batch row serializes flushes, so counters are exact and number the rows without gaps in commit order.
 * Each step is one statement for all batches: the number of round trips does not depend on the number of batches.
 */
export function createRecording(db: Db): Pick<ResultStore, 'record' | 'recordMissing'> {
  return {
    record: (worker, results, finished, now, billedAt = now) =>
      db.tx(async (q) => {
        const ids = [...new Set([...results, ...finished].map(({ batchId }) => batchId))].toSorted();
        // Ordered by id: one lock order for all processes.
        const found = await batchStates.among(q, 'id', ids, {}, `ORDER BY id ${q.forUpdate}`);
        const open = found.filter((batch) => accepts(batch, now));
        const kept = await keep(q, open, results, { now, billedAt });
        await finishChunks(q, worker, finished);
        const openIds = new Set(open.map(({ id }) => id));
        const orgs = new Map(found.map(({ id, orgId }) => [id, orgId]));
        return ids.map((batchId) => ({
          batchId,
          orgId: orgs.get(batchId) ?? null,
          ...(kept.get(batchId) ?? { kept: 0, complete: false }),
          closed: !openIds.has(batchId),
        }));
      }),

    recordMissing: (worker, lease, results, now) =>
      db.tx(async (q) => {
        const batch = await lockBatch(q, lease.batchId);
        if (!batch || !(await holdsClosingLease(q, worker, lease))) return false;
        await keep(q, [batch], results, { now, billedAt: now });
        return true;
      }),
  };
}

export async function holdsClosingLease(q: Queries, worker: string, lease: Lease): Promise<boolean> {
  return lease.seq === 0 && (await findLeased(q, worker, lease)) !== undefined;
}

function accepts(batch: BatchState, now: number): boolean {
  return (batch.status === 'in_progress' || batch.status === 'cancelling') && batch.acceptUntil > now;
}

/** Writes, counts and bills the results of lines that have none yet. */
export async function keep(
  q: Queries,
  batches: readonly BatchState[],
  results: readonly LineResult[],
  { now, billedAt }: { now: number; billedAt: number },
): Promise<Map<string, Pick<RecordOutcome, 'kept' | 'complete'>>> {
  const counts = new Map(batches.map((batch) => [batch.id, { output: batch.ok, errors: batch.err }]));
  const taken = results.filter(({ batchId }) => counts.has(batchId));
  const known = await recordedLines(q, taken);
  const fresh = taken
    .filter(({ batchId, line }) => {
      const key = lineKey({ batchId, line });
      return !known.has(key) && known.add(key);
    })
    .map((result) => ({
      ...result,
      ...result.usage,
      run: result.run ?? null,
      n: ++counts.get(result.batchId)![result.stream],
    }));
  const freshOf = Map.groupBy(fresh, ({ batchId }) => batchId);
  if (fresh.length === 0) return new Map();
  await resultRows.insert(q, fresh);
  await insertAnswers(
    q,
    fresh.flatMap(({ rows }) => rows ?? []),
    now,
  );
  const grown = batches.filter(({ id }) => freshOf.has(id));
  const counted = grown.map((batch) => ({ batch, ...counts.get(batch.id)! }));
  await writeCounts(q, counted);
  await endComplete(q, counted, now);
  const hour = utcHour(billedAt);
  await addToLedger(
    q,
    grown.flatMap((batch) => bill(batch, freshOf.get(batch.id)!, hour)),
  );
  return new Map(
    counted.map((count) => [
      count.batch.id,
      { kept: freshOf.get(count.batch.id)!.length, complete: isComplete(count) },
    ]),
  );
}

type ResultRow = Omit<LineResult, 'run'> & Usage & { n: number; run: LineRun | null };

/** Only the ledger has costs, and the sums of tokens that are not counted here. */
const resultRows = tableOf<
  Omit<ResultRow, 'usage' | 'cost' | 'cacheWriteTokens' | 'reasoningTokens' | 'run' | 'rows'> & {
    run: LineRun | null;
  }
>('batch_results', { json: ['run'] })(
  'batchId line stream n model inputTokens cachedTokens outputTokens attempts code body run',
);

type Count = Record<ResultStream, number> & { batch: BatchState };

/** True if the batch has its last result and can be closed. */
function isComplete({ batch, output, errors }: Count): boolean {
  return batch.closing === null && output + errors >= batch.total;
}

async function writeCounts(q: Queries, counts: readonly Count[]): Promise<void> {
  for (const slice of slices(counts, 256))
    await q.all(
      `WITH counted(id, ok, err, closing) AS (VALUES ${typedTuples(slice.length, ['text', 'integer', 'integer', 'text'])})
       UPDATE batches SET ok = counted.ok, err = counted.err, closing = counted.closing
       FROM counted WHERE batches.id = counted.id`,
      slice.flatMap((count) => [
        count.batch.id,
        count.output,
        count.errors,
        isComplete(count) ? 'completed' : count.batch.closing,
      ]),
    );
}

/** Makes complete batches ready to close, and ends complete groups, which have neither result files nor events. */
async function endComplete(q: Queries, counts: readonly Count[], now: number): Promise<void> {
  const complete = counts.filter(isComplete).map(({ batch }) => batch.id);
  const groups = complete.filter(isGroup);
  await readyToClose(
    q,
    complete.filter((id) => !isGroup(id)),
  );
  await allIn(
    q,
    groups,
    (list) => `UPDATE batches SET status = 'completed', completed_at = ?, purged = 1 WHERE id IN ${list}`,
    (list) => [now, ...list],
  );
  await allIn(q, groups, (list) => `DELETE FROM request_bodies WHERE batch_id IN ${list}`);
  await allIn(q, groups, (list) => `DELETE FROM batch_chunks WHERE batch_id IN ${list}`);
}

/** Makes the closing chunks ready. */
export async function readyToClose(q: Queries, batchIds: readonly string[]): Promise<void> {
  const text = (list: string) =>
    `UPDATE batch_chunks SET state = 'ready' WHERE batch_id IN ${list} AND seq = 0 AND state = 'held'`;
  await allIn(q, batchIds, text);
}

/** Charges; only outputs are billed. */
function bill(batch: BatchState, results: ResultRow[], hour: string): LedgerEntry[] {
  const paid = Map.groupBy(
    results.filter((result) => result.stream === 'output'),
    (result) => result.model,
  );
  return [...paid].map(([model, lines]) => ({
    // The requests of a group are billed as those of its key at its tier.
    sourceId: isGroup(batch.id) ? singlesOf(batch) : batch.id,
    orgId: batch.orgId,
    keyId: batch.keyId,
    keyFamily: batch.keyFamily,
    model,
    day: hour,
    endpoint: batch.endpoint,
    tag: batch.tag,
    requests: lines.length,
    usage: lines.reduce((sum, { usage }) => addUsage(sum, usage), noUsage),
    cost: lines.reduce((sum, line) => addCosts(sum, line.cost), noCost),
  }));
}
