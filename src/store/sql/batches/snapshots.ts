import { isFinal } from '../../../core/batch.ts';
import type { BatchStore } from '../../contract/batches.ts';
import type { Db } from '../../db.ts';
import { ledgerRows } from '../accounts/ledger-rows.ts';
import { batches } from '../rows.ts';
import { errorSummaryOf } from './error-summary.ts';
import { linesInFlight } from './recorded-lines.ts';

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
          running: isFinal(batch.status) ? 0 : (await linesInFlight(q, id)).length,
          errorSummary: batch.err > 0 ? await errorSummaryOf(q, id) : [],
        };
      }),
  };
}
