import { type Batch, defaultFlexTimeoutMs, isFinal } from '../core/batch.ts';
import { ApiError, notFound } from '../core/errors.ts';
import type { Caller } from '../core/org.ts';
import { isGroup } from '../core/request-group.ts';
import type { BatchQuery } from '../store/contract/batches.ts';
import { createAudit } from '../accounts/audit.ts';
import { noHistory } from '../core/batch-history.ts';
import { createActOnBatch } from './actions/act-on-batch.ts';
import { BatchActions } from './actions/batch-actions.ts';
import type { Batches } from './batches.ts';
import type { BatchesDeps, CreateDeps } from './batch-context.ts';
import { maxCounted } from '../wire/batch/counts.ts';
import type { RetryOptions } from '../wire/batch/retry.ts';
import type { BatchView } from '../wire/batch/present.ts';
import type { Retry } from './create/batch-input.ts';
import { createBatch, type CreateBatchDeps, retryBatch } from './create/create.ts';
import { dryRun, type DryRunDeps, retryDryRun } from './create/dry-run.ts';
import type { ForecastDeps } from './create/forecast.ts';
import { failedLines, requireFailures } from './create/failed-lines.ts';
import { ownerOf } from './owner.ts';
import { requireFinished } from './remove.ts';
import { runTimes } from './deadline-risk.ts';
import { BatchEventStreams } from './read/event-streams.ts';
import { listAll, type ListAllDeps } from './read/list-all.ts';
import { createLineReader } from './read/line-reader.ts';
import { ResultReaders, readResults } from './read/results.ts';
import { OpenWork } from './read/open-work.ts';
import { createMatcher } from './read/match.ts';
import { createDurableRequests } from './requests/create-durable-requests.ts';
import { createViews } from './views.ts';
import { BatchChanges } from './watch/batch-changes.ts';
import { BatchWatch } from './watch/batch-watch.ts';
import { HistoryRecorder } from './watch/history-recorder.ts';
import { toProcess } from './process-load.ts';
import { createWorker } from './worker.ts';

/** Owner of the scans of operators, who have no org. */
const operatorOwner = '';

/** Builds the batch engine: a worker, and what clients and operators do with batches. */
export function createBatches(deps: BatchesDeps): Batches {
  const { peers, time, log, batch: settings } = deps;
  const worker = createWorker(deps);
  const { context, runner, requestResults, waitSources } = worker;
  const { store } = context;
  const creating: CreateDeps = { ...deps, clock: time, catalog: peers };
  const requests = createDurableRequests({
    ...creating,
    store,
    results: requestResults,
    timer: deps.clock,
    worker: context.worker,
    drop: (place) => runner.work.cancelRequest(place),
    wake: () => runner.wake(),
    runNow: (group, chunks) => runner.runNow(group, chunks),
  });
  const reading = { ...deps, readers: new ResultReaders() };
  const lineReader = createLineReader(deps);
  let stopping: Promise<void> | null = null;
  let isStarted = false;

  const openWork = new OpenWork({ ...context, throughput: runner.throughput });
  const forecasting: ForecastDeps = {
    openWork: () => openWork.read(),
    weights: async () => new Map((await store.orgs.list()).map(({ id, weight }) => [id, weight])),
    waiting: (orgId, model) => waitSources.pausing(orgId, model) ?? waitSources.waiting(model),
    timesOf: (orgId, model) => runTimes(context, orgId, model),
    idOf: peers.idOf,
  };
  const dryRuns: DryRunDeps = { creating, counting: deps, forecasting };
  const creatingBatches: CreateBatchDeps = { ...creating, forecasting };

  const views = createViews({
    ...context,
    waitSources,
    unsent: (id) => runner.work.chunks.unsentOf(id),
  });
  const { viewOwned } = views;
  const changes = new BatchChanges(context.worker);
  const batchWatch = new BatchWatch({
    ...context,
    waitSources,
    sending: () => runner.work.chunks.sending(),
    view: views.view,
    changes,
    histories: new HistoryRecorder(store.histories),
  });

  const eventStreams = new BatchEventStreams({
    clock: deps.clock,
    log,
    async read(id) {
      const snapshot = await store.batches.snapshot(id);
      return snapshot && views.view(snapshot);
    },
  });

  const announceNew = async (caller: Caller, { id, replayed }: { id: string; replayed: boolean }) => {
    openWork.forget();
    runner.wake();
    return { batch: await viewOwned(caller.orgId, id), replayed };
  };

  const openFailedLines = async (
    caller: Caller,
    id: string,
    { codes, window }: RetryOptions,
  ): Promise<Retry> => {
    const of = await requireOwned(caller.orgId, id);
    requireFailures(of);
    const errors = await readResults(reading, of, 'errors', 0);
    const lines = await failedLines({ ...deps, now: time.now() }, of, await errors.read(), codes);
    return { of, lines, ...(window !== undefined && { window }) };
  };

  const listPage = async (orgId: string, query: BatchQuery) => {
    const page = await store.batches.list(orgId, { ...query, limit: query.limit + 1 });
    const hasMore = page.length > query.limit;
    // The extra row is at the end away from the cursor.
    const start = hasMore && query.before !== undefined ? 1 : 0;
    return { batches: await views.viewListed(page.slice(start, start + query.limit)), hasMore };
  };

  const listing: ListAllDeps = {
    store: store.batches,
    scans: deps.scans,
    models: peers,
    waitSources,
    timesOf: ({ orgId, model }) => runTimes(context, orgId, model),
    views: views.viewListed,
  };

  const requireOwned = async (orgId: string, id: string): Promise<Batch> => {
    const batch = await store.batches.get(orgId, id);
    if (!batch) throw notFound('batch');
    return batch;
  };

  const actions = new BatchActions({
    ...context,
    async *matching(orgId, filter, signal) {
      // Only waits need more than the rows.
      const rows = async (batches: readonly Batch[]) => batches.map((batch) => ({ batch, waiting: null }));
      const from: ListAllDeps<Pick<BatchView, 'batch' | 'waiting'>> =
        filter.waiting === undefined ? { ...listing, views: rows } : listing;
      for (let after: string | undefined; ;) {
        const query = { ...filter, orgId, order: 'asc', limit: 250, after } as const;
        const page = await listAll(from, query, orgId ?? operatorOwner, signal);
        yield page.batches.map(({ batch }) => batch);
        if (!page.hasMore) return;
        after = page.batches.at(-1)!.batch.id;
      }
    },
    act: (action, batchId) => act(action, batchId),
  });

  const batches: Batches = {
    actions,
    requests,
    processId: context.worker,
    windows: settings.windows,
    flexTimeoutMs: settings.flexTimeoutMs ?? defaultFlexTimeoutMs,

    openWork: () => openWork.read(),
    modelWaiting: (model) => waitSources.pausing(null, model) ?? waitSources.waiting(model),

    async processes() {
      const now = time.now();
      return (await store.workers.list()).map((state) =>
        toProcess(state.id === context.worker ? { ...state, load: worker.load(), beatAt: now } : state, now),
      );
    },

    async start() {
      if (!(await worker.start()) || stopping) return;
      isStarted = true;
      actions.start();
      await batchWatch.start();
    },

    stop() {
      stopping ??= stopOnce();
      return stopping;
    },

    async create(caller, input, creation) {
      return announceNew(caller, await createBatch(creatingBatches, caller, input, creation));
    },

    dryRun: (caller, input) => dryRun(dryRuns, caller, input),

    get: (caller, id) => viewOwned(caller.orgId, id),

    list: (caller, query) => listPage(caller.orgId, query),

    async listOwn({ orgId }, filters, signal) {
      const { createdBefore, model, waiting, atRisk, words, ...exact } = filters;
      // A page of an index does not wait behind searches.
      const isExact = [createdBefore, model, waiting, atRisk, words].every((each) => each === undefined);
      return isExact ? listPage(orgId, exact) : listAll(listing, { ...filters, orgId }, orgId, signal);
    },

    countByStatus: (orgId) => store.batches.countByStatus(orgId, maxCounted),

    async asOwner(id) {
      const batch = isGroup(id) ? undefined : await store.batches.find(id);
      if (!batch) throw notFound('batch');
      return ownerOf(store, batch);
    },

    async setPriority(caller, id, priority) {
      await requireOwned(caller.orgId, id);
      const isOpen = await store.batches.setPriority(id, priority);
      const shown = await viewOwned(caller.orgId, id);
      if (!isOpen) throw new ApiError('batch_not_changeable', endedMessage(shown.batch));
      runner.wake();
      return shown;
    },

    listAll: (filters, signal) => listAll(listing, filters, operatorOwner, signal),

    async remove(caller, id) {
      const batch = await requireOwned(caller.orgId, id);
      requireFinished(batch, 'it can be deleted');
      await worker.remove(batch);
    },

    async cancel(caller, id) {
      const outcome = await store.batches.cancel(caller.orgId, id, time.now(), settings.cancelGraceMs);
      if (!outcome) throw notFound('batch');
      const { batch, began } = outcome;
      if (began) {
        runner.work.stopBatch(id, settings.cancelGraceMs);
        runner.wake();
      } else if (batch.closing !== 'cancelled')
        throw new ApiError(
          'batch_not_cancellable',
          `The batch is ${batch.status} and can no longer be cancelled.`,
        );
      return viewOwned(caller.orgId, id);
    },

    async pause(caller, id) {
      if (await store.batches.pause(caller.orgId, id, time.now())) runner.work.yieldBatch(id);
      return requireOpen(await viewOwned(caller.orgId, id));
    },

    async resume(caller, id) {
      if (await store.batches.resume(caller.orgId, id, time.now())) runner.wake();
      return requireOpen(await viewOwned(caller.orgId, id));
    },

    async retry(caller, id, options, creation) {
      const retry = await openFailedLines(caller, id, options);
      return announceNew(caller, await retryBatch(creatingBatches, caller, retry, creation));
    },

    async retryDryRun(caller, id, options) {
      const retry = await openFailedLines(caller, id, options);
      return retryDryRun(dryRuns, caller, retry);
    },

    async follow(caller, id, signal) {
      await requireOwned(caller.orgId, id);
      return eventStreams.follow(id, signal);
    },

    async lines(caller, id, query, signal) {
      return lineReader.page(await requireOwned(caller.orgId, id), query, signal);
    },

    async line(caller, id, name, signal) {
      return lineReader.one(await requireOwned(caller.orgId, id), name, signal);
    },

    async followAll(filters, position, signal) {
      await batchWatch.collect();
      return changes.read(JSON.stringify(filters), createMatcher(peers, filters), position, signal);
    },

    async history({ orgId }, id) {
      const shown = await viewOwned(orgId, id);
      const [history = noHistory] = await store.histories.get([id]);
      return { view: shown, history, now: time.now() };
    },

    async results(caller, id, stream, after) {
      return readResults(reading, await requireOwned(caller.orgId, id), stream, after);
    },
  };
  const act = createActOnBatch({
    store,
    batches,
    callerOf: (of) => ownerOf(store, of),
    audit: createAudit({ store, clock: deps.clock }),
  });
  return batches;

  async function stopOnce(): Promise<void> {
    eventStreams.stop();
    changes.stop();
    if (isStarted) {
      await actions.stop();
      await batchWatch.stop();
    }
    await worker.stop();
  }
}

function requireOpen(view: BatchView): BatchView {
  const { batch } = view;
  if (batch.closing === null) return view;
  throw new ApiError('batch_not_pausable', endedMessage(batch));
}

function endedMessage({ status }: Batch): string {
  return `The batch is ${isFinal(status) ? status : 'already ending'} and can no longer be changed.`;
}
