import type { Gate } from '../../base/fair-gate.ts';
import { heavySlices } from '../../base/loop-slices.ts';
import { type Batch, isFinal } from '../../core/batch.ts';
import type { Catalog } from '../../core/model.ts';
import type { WaitingReason } from '../../core/waiting.ts';
import type { AllBatchesQuery, BatchStore } from '../../store/contract/batches.ts';
import type { BatchView } from '../../wire/batch/present.ts';
import type { RunTimes } from '../deadline-risk.ts';
import { isAtRisk } from './view.ts';
import { type BatchFilters, namesModel, type WaitingFilter, waitsFor } from './match.ts';
import { findWaiting, type WaitSources } from './waiting.ts';

/** Rows that one statement reads where most may not match: some milliseconds of an embedded database. */
const rowsPerRead = 250;

/** Batch of a list, as far as filters look at it. */
type Listed = Pick<BatchView, 'batch' | 'waiting'>;

export interface ListAllDeps<View extends Listed = BatchView> {
  store: Pick<BatchStore, 'listAll' | 'search'>;
  /** Shares the reads of many rows among orgs. */
  scans: Gate;
  models: Pick<Catalog, 'find' | 'idOf'>;
  waitSources: WaitSources;
  timesOf: (batch: Batch) => RunTimes;
  /** Views of batches, in order; without those that were deleted meanwhile. */
  views: (batches: readonly Batch[]) => Promise<View[]>;
}

/**
 * One page of the batches that match. The database reads one group of an index in slices, and the other filters are applied here:
 * waits and risks are not stored.
 * @param owner org that asks
 * @param signal stops a search whose client has left
 */
export async function listAll<View extends Listed>(
  deps: ListAllDeps<View>,
  filters: BatchFilters,
  owner: string,
  signal: AbortSignal,
): Promise<{ batches: View[]; hasMore: boolean }> {
  const { limit, order, createdAfter, createdBefore, model, waiting, atRisk, words = [] } = filters;
  const isExact = model === undefined && waiting === undefined && atRisk === undefined;
  const size = isExact ? limit + 1 : rowsPerRead;
  const of = groupOf(deps, filters);
  const batches: View[] = [];
  let { after } = filters;
  for (;;) {
    signal.throwIfAborted();
    const bounds = { order, createdAfter, createdBefore };
    const read = () => nextRows(deps.store, { ...bounds, after, of, limit: size }, words);
    const isPage = isExact && words.length === 0;
    const { rows, next } = await (isPage ? read() : deps.scans.within(owner, 1, signal, read));
    if (!isPage) await heavySlices.next(owner);
    const candidates = rows.filter((batch) => mayMatch(deps, filters, batch));
    while (candidates.length > 0) {
      const views = await deps.views(candidates.splice(0, limit + 1 - batches.length));
      batches.push(
        ...views.filter((view) => waiting === undefined || waitsFor(waiting, view.waiting?.reason ?? null)),
      );
      if (batches.length > limit) return { batches: batches.slice(0, limit), hasMore: true };
      signal.throwIfAborted();
    }
    if (next === null) return { batches, hasMore: false };
    after = next;
  }
}

/** Rows of the next statement, and where the one after it continues. */
async function nextRows(
  store: Pick<BatchStore, 'listAll' | 'search'>,
  query: AllBatchesQuery,
  words: readonly string[],
): Promise<{ rows: Batch[]; next: string | null }> {
  if (words.length > 0) {
    const { batches: rows, next } = await store.search({ ...query, words });
    return { rows, next };
  }
  const rows = await store.listAll(query);
  return { rows, next: rows.length < query.limit ? null : rows.at(-1)!.id };
}

/** The smallest group that contains all matching batches. */
function groupOf(
  { models }: Pick<ListAllDeps<Listed>, 'models'>,
  filters: BatchFilters,
): AllBatchesQuery['of'] {
  const { orgId, model, status, waiting, atRisk } = filters;
  if ((waiting !== undefined || atRisk === true) && (status === undefined || !isFinal(status)))
    return { open: true };
  if (orgId !== undefined) return { orgId, status };
  if (model !== undefined) {
    const known = models.find(model);
    return { models: known ? [known.id, ...known.aliases] : [model] };
  }
  return status && { status };
}

/** True unless the row of a batch shows that it does not match. */
function mayMatch(
  { models, waitSources, timesOf }: Omit<ListAllDeps<Listed>, 'views'>,
  filters: BatchFilters,
  batch: Batch,
): boolean {
  const { orgId, model, status, waiting, atRisk } = filters;
  if (orgId !== undefined && batch.orgId !== orgId) return false;
  if (status !== undefined && batch.status !== status) return false;
  if (model !== undefined && !namesModel(models, batch, model)) return false;
  if (atRisk !== undefined && isAtRisk(batch, timesOf(batch)) !== atRisk) return false;
  return waiting === undefined || mayWait(waiting, batch, findWaiting(batch, 0, waitSources));
}

/** @param found reason for which the batch waits if none of its lines is in flight: otherwise it waits for the same or not at all */
function mayWait(
  waiting: WaitingFilter,
  { status, closing }: Batch,
  found: { reason: WaitingReason } | null,
): boolean {
  // Only the chunks of a batch show suspected crashes.
  const maybeSuspected = found === null && status === 'in_progress' && closing === null;
  if (waiting === 'any') return found !== null || maybeSuspected;
  return waiting === 'crash_suspected' ? maybeSuspected : found?.reason === waiting;
}
