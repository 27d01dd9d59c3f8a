import { isFinal } from '../../../core/batch.ts';
import type { BatchStore } from '../../contract/batches.ts';
import type { Db, Queries } from '../../db.ts';
import { ledgerRows } from '../accounts/ledger-rows.ts';
import { batches, unpackLines } from '../rows.ts';
import { errorSummaryOf } from './error-summary.ts';
import { recordedLines } from './recorded-lines.ts';

/** Reads a batch with its usage, running lines and errors in one snapshot, so that they agree while results arrive. */
export function createSnapshots(db: Db): Pick<BatchStore, 'snapshot'> {
  return {
    snapshot: (id, orgId) =>
      db.tx(async (q) => {
        if (db.types.snapshot !== '') await q.all(db.types.snapshot);
        const batch = await batches.first(q, { id, 'org_id = ?': orgId });
        if (!batch) return undefined;
        return {
          batch,
          ledger: await ledgerRows(q, [id]),
          running: isFinal(batch.status) ? 0 : await countRunning(q, id),
          errorSummary: batch.err > 0 ? await errorSummaryOf(q, id) : [],
        };
      }),
  };
}

async function countRunning(q: Queries, batchId: string): Promise<number> {
  const leased = await q.all<{ lines: string }>(
    `SELECT lines FROM batch_chunks WHERE batch_id = ? AND state = 'leased'`,
    [batchId],
  );
  const lines = leased.flatMap((row) => unpackLines(row.lines).map(({ line }) => ({ batchId, line })));
  return lines.length - (await recordedLines(q, lines)).size;
}
