import { isFinal } from '../../../../core/batch.ts';
import type { BatchSnapshot, BatchStore } from '../../../contract/batches.ts';
import type { Db, Queries } from '../../../db.ts';
import { ledgerRows } from '../../accounts/ledger-rows.ts';
import { batches, unpackLines } from '../../rows.ts';
import { errorSummaryOf } from '../recording/error-summary.ts';
import { isBatch } from '../queued-work.ts';
import { allIn } from '../../statement.ts';
import { lineKey } from '../../../../core/request-group.ts';
import { recordedLines } from '../recording/recorded-lines.ts';

/** Reads a batch with its usage, running lines and errors in one snapshot, so that they agree while results arrive. */
export function createSnapshots(db: Db): Pick<BatchStore, 'snapshot' | 'snapshots'> {
  const read = (ids: readonly string[], orgId?: string) =>
    db.tx(async (q) => {
      if (db.types.snapshot !== '') await q.all(db.types.snapshot);
      const found = await batches.among(q, 'id', ids, { [isBatch]: [], 'org_id = ?': orgId });
      if (found.length === 0) return [];
      const ledger = Map.groupBy(await ledgerRows(q, ids), ({ sourceId }) => sourceId);
      const open = found.filter(({ status }) => !isFinal(status)).map(({ id }) => id);
      const running = open.length > 0 ? await countRunning(q, open) : new Map<string, number>();
      const snapshots: BatchSnapshot[] = [];
      for (const batch of found)
        snapshots.push({
          batch,
          ledger: ledger.get(batch.id) ?? [],
          running: running.get(batch.id) ?? 0,
          errorSummary: batch.err > 0 ? await errorSummaryOf(q, batch.id) : [],
        });
      return snapshots;
    });
  return {
    snapshot: async (id, orgId) => (await read([id], orgId))[0],
    snapshots: (ids) => (ids.length === 0 ? Promise.resolve([]) : read(ids)),
  };
}

/** Claimed lines without a result, by batch. */
async function countRunning(q: Queries, batchIds: readonly string[]): Promise<Map<string, number>> {
  const leased = await allIn<{ batchId: string; lines: string }>(
    q,
    batchIds,
    (list) =>
      `SELECT batch_id AS "batchId", lines FROM batch_chunks WHERE batch_id IN ${list} AND state = 'leased'`,
  );
  const lines = leased.flatMap((row) =>
    unpackLines(row.lines).map(({ line }) => ({ batchId: row.batchId, line })),
  );
  const recorded = await recordedLines(q, lines);
  const counts = new Map<string, number>();
  for (const { batchId, line } of lines)
    if (!recorded.has(lineKey({ batchId, line }))) counts.set(batchId, (counts.get(batchId) ?? 0) + 1);
  return counts;
}
