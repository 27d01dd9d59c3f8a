import { type Batch, isFinal } from '../core/batch.ts';
import { notFound } from '../core/errors.ts';
import type { BatchSnapshot } from '../store/contract/batches.ts';
import type { Store } from '../store/store.ts';
import type { BatchView } from '../wire/batch/present.ts';
import { suspectKills } from './claimed/poison-suspects.ts';
import { runTimes, type TimesDeps } from './deadline-risk.ts';
import { toBatchView } from './read/view.ts';
import { crashSuspected, findWaiting, namedModels, type WaitSources } from './read/waiting.ts';

export interface ViewsDeps extends TimesDeps {
  store: Pick<Store, 'batches' | 'results' | 'ledger'>;
  waitSources: WaitSources;
  /** Claimed lines of a batch that this process has not sent. */
  unsent: (batchId: string) => number;
}

/** Views of batches, with what is computed when they are read. */
export function createViews(deps: ViewsDeps) {
  const { store, waitSources, unsent } = deps;

  const isSuspected = async ({ id, status, closing }: Batch) =>
    status === 'in_progress' && closing === null && ((await store.batches.minKills(id)) ?? 0) >= suspectKills;

  const view = async ({ batch, ledger, running, errorSummary }: BatchSnapshot): Promise<BatchView> => {
    // Lines that peers have claimed and not sent are unknown, and count.
    const inFlight = Math.max(0, running - unsent(batch.id));
    const waiting =
      findWaiting(batch, inFlight, waitSources) ??
      (running === 0 && (await isSuspected(batch)) ? crashSuspected(batch) : null);
    const place =
      waiting?.reason === 'queued' ? await store.batches.queuePlace(batch, namedModels(batch)) : null;
    const times = runTimes(deps, batch.orgId, batch.model);
    return toBatchView(batch, ledger, { running: inFlight, errorSummary, waiting, place, times });
  };

  /** @throws ApiError `not_found` */
  const viewOwned = async (orgId: string, id: string): Promise<BatchView> => {
    const snapshot = await store.batches.snapshot(id, orgId);
    if (!snapshot) throw notFound('batch');
    return view(snapshot);
  };

  /** Views of a list. Final batches do not change, so their ledger rows are read together. */
  const viewListed = async (listed: readonly Batch[]): Promise<BatchView[]> => {
    const ended = listed.filter(({ status }) => isFinal(status)).map(({ id }) => id);
    const ledger = Map.groupBy(await store.ledger.forSources(ended), (row) => row.sourceId);
    const snapshotOf = async (batch: Batch) => {
      if (!isFinal(batch.status)) return store.batches.snapshot(batch.id);
      const errorSummary = batch.err > 0 ? await store.results.errorSummary(batch.id) : [];
      return { batch, ledger: ledger.get(batch.id) ?? [], running: 0, errorSummary };
    };
    const snapshots = await Promise.all(listed.map(snapshotOf));
    // An open batch may have ended and been deleted meanwhile.
    return Promise.all(snapshots.filter((snapshot) => snapshot !== undefined).map(view));
  };

  return { view, viewOwned, viewListed };
}
