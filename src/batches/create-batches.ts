import { type Batch, isFinal, defaultEndpoints } from '../core/batch.ts';
import { ApiError, notFound } from '../core/errors.ts';
import { addUsage, noUsage } from '../core/usage.ts';
import type { Caller } from '../core/org.ts';
import type { BatchPicture } from '../store/contract/batches.ts';
import type { Batches } from './batches.ts';
import type { BatchesDeps, Ground } from './ground.ts';
import type { BatchView } from '../wire/batch/present.ts';
import { Closer } from './close/closer.ts';
import {
  type BatchInput,
  createBatch,
  type CreateDeps,
  freezePrices,
  hearOfModels,
  openInput,
  retryBatch,
} from './create/create.ts';
import { failedLines, requireFailures } from './create/failed-lines.ts';
import { removeFiles, requireFinished } from './remove.ts';
import { isDatabaseUnavailable } from '../core/database-fault.ts';
import { runTimes } from './risk.ts';
import { MissingModels } from './missing-models.ts';
import { OpenHours } from './open-hours.ts';
import { countInput } from './create/count-input.ts';
import { estimateUsage } from './create/estimate.ts';
import { Heartbeat, leaseLifeMs } from './watch/heartbeat.ts';
import { Followers } from './read/followers.ts';
import { Readers, readResults } from './read/results.ts';
import { Runner } from './runner.ts';
import { suspectKills } from './claimed/suspects.ts';
import { amountOf, viewOf } from './read/view.ts';
import { modelsOf, surroundingsOf, suspectedOf, waitingOf } from './read/waiting.ts';
import { loadOf } from './watch/load.ts';
import { Watch } from './watch/watch.ts';

/** Builds the batch engine. `start` recovers what an earlier process left and begins to run. */
export function createBatches(parts: BatchesDeps): Batches {
  const { store, generate, time, ids, log, batch: settings } = parts;
  const { catalog, fleet } = generate;
  const worker = ids.next('wrk_');
  const load = () => loadOf(generate);
  // A heartbeat reads and writes, and touches no batch.
  const probe = () => store.workers.beat(worker, load());
  if (!parts.exclusive) fleet.askBy(async () => (await probe()).others);
  const isAway = (error: unknown) => isDatabaseUnavailable(error, probe);
  const missing = new MissingModels({ ...parts, fleet, lostAfterMs: settings.lostModelAfterMs });
  fleet.onLearn(() => missing.learned());
  const hours = new OpenHours(catalog, time);
  const ground: Ground = {
    ...parts,
    worker,
    fleet,
    missing,
    hours,
    isAway,
    holdsLeases: (since) => heartbeat.holds(since),
  };
  const closer = new Closer(ground);
  const runner = new Runner({ ...ground, closer });
  // Nobody else can tell the time of this database: when its clock jumps, no time has passed.
  const moveWindows = async (by: number): Promise<void> => {
    const batches = await store.batches.moveWindows(by);
    log.warn(
      { by_ms: by, batches },
      'the clock of this machine jumped; the windows of open batches moved along',
    );
  };
  const heartbeat: Heartbeat = new Heartbeat({
    ...ground,
    load,
    giveBackStrays: () => runner.giveBackStrays(),
    onReaped: () => runner.wake(),
    moveWindows: parts.exclusive ? moveWindows : null,
    onReturn: (leases) => runner.work.keepOnly(leases),
  });
  const watch = new Watch({
    ...ground,
    work: runner.work,
    onWork: () => runner.wake(),
    purge: (batchId) => closer.purge(batchId),
  });
  // Windows are counted in the database's time, whatever the wall clock of this machine says.
  const creating: CreateDeps = { ...parts, clock: time, catalog: fleet };
  const reading = { ...parts, readers: new Readers() };
  let stopping: Promise<void> | null = null;
  let started = false;

  const surroundings = surroundingsOf({ ...ground, storage: (id) => runner.storage(id) });

  const view = async ({ batch, ledger, running, errorSummary }: BatchPicture): Promise<BatchView> => {
    const waiting =
      waitingOf(batch, running - runner.work.held.unsentOf(batch.id), surroundings) ??
      (running === 0 && (await isSuspected(batch)) ? suspectedOf(batch) : null);
    const ahead = waiting?.reason === 'queued' ? await store.batches.ahead(batch, modelsOf(batch)) : null;
    const times = runTimes(ground, batch.orgId, batch.model);
    return viewOf(batch, ledger, { running, errorSummary, waiting, ahead, times });
  };

  const isSuspected = async ({ id, status, closing }: Batch) =>
    status === 'in_progress' &&
    closing === null &&
    ((await store.batches.leastKills(id)) ?? 0) >= suspectKills;

  const followers = new Followers({
    clock: parts.clock,
    log,
    async look(id) {
      const picture = await store.batches.picture(id);
      return picture && view(picture);
    },
  });

  /** Removes what was written of the input. */
  const priceAndCount = async (caller: Caller, opened: BatchInput) => {
    try {
      await hearOfModels(fleet, opened);
      const prices = freezePrices(fleet, caller, opened);
      return { prices, counted: await countInput(parts, caller.orgId, opened) };
    } finally {
      await opened.sealed?.discard();
    }
  };

  const viewOwned = async (orgId: string, id: string): Promise<BatchView> => {
    const picture = await store.batches.picture(id, orgId);
    if (!picture) throw notFound('batch');
    return view(picture);
  };

  /** Batches of a list: one that is final does not change, and all of those are read at once. */
  const viewListed = async (listed: readonly Batch[]): Promise<BatchView[]> => {
    const ended = listed.filter(({ status }) => isFinal(status)).map(({ id }) => id);
    const ledger = Map.groupBy(await store.ledger.ofMany(ended), (row) => row.sourceId);
    const pictureOf = async (batch: Batch) => {
      if (!isFinal(batch.status)) return store.batches.picture(batch.id);
      const errorSummary = batch.err > 0 ? await store.results.errorSummary(batch.id) : [];
      return { batch, ledger: ledger.get(batch.id) ?? [], running: 0, errorSummary };
    };
    const pictures = await Promise.all(listed.map(pictureOf));
    // One that was still open may have ended and been deleted since.
    return Promise.all(pictures.filter((picture) => picture !== undefined).map(view));
  };

  const owned = async (orgId: string, id: string): Promise<Batch> => {
    const batch = await store.batches.get(orgId, id);
    if (!batch) throw notFound('batch');
    return batch;
  };

  return {
    endpoints: settings.endpoints ?? defaultEndpoints,
    windowMs: settings.completionWindowMs,

    async start() {
      if (parts.exclusive) {
        await store.workers.clear();
        await store.workers.reap(time.now() + leaseLifeMs);
      }
      await heartbeat.start();
      // Stopped meanwhile: nothing may begin any more.
      if (stopping) return heartbeat.stop();
      started = true;
      runner.start();
      watch.start();
    },

    stop() {
      stopping ??= stopOnce();
      return stopping;
    },

    async create(caller, input, creation) {
      const { id, replayed } = await createBatch(creating, caller, input, creation);
      runner.wake();
      return { batch: await viewOwned(caller.orgId, id), replayed };
    },

    async dryRun(caller, input) {
      const opened = await openInput(creating, caller, input);
      const { index } = opened;
      const { prices, counted } = await priceAndCount(caller, opened);
      const byModel = estimateUsage(index, fleet.idOf, counted);
      return {
        endpoint: input.endpoint,
        total: index.count,
        exactInput: counted.every((tokens) => tokens !== undefined),
        usage: [...byModel.values()].reduce(addUsage, noUsage),
        amount: amountOf(byModel, prices, settings.priceFactor),
        listAmount: amountOf(byModel, prices, 1),
      };
    },

    async get(caller, id) {
      return viewOwned(caller.orgId, id);
    },

    async list(caller, query) {
      const page = await store.batches.list(caller.orgId, { ...query, limit: query.limit + 1 });
      const hasMore = page.length > query.limit;
      // One too many stands at the end that is farther from the cursor.
      const start = hasMore && query.before !== undefined ? 1 : 0;
      const shown = page.slice(start, start + query.limit);
      return { batches: await viewListed(shown), hasMore };
    },

    async remove(caller, id) {
      const batch = await owned(caller.orgId, id);
      requireFinished(batch, 'it can be deleted');
      await removeFiles(parts, caller, batch);
      await closer.purge(id);
      await store.batches.remove(caller.orgId, id);
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
          `The batch is ${batch.status} and cannot be cancelled any more.`,
        );
      return viewOwned(caller.orgId, id);
    },

    async pause(caller, id) {
      if (await store.batches.pause(caller.orgId, id, time.now())) runner.work.yieldBatch(id);
      return mustBeOpen(await viewOwned(caller.orgId, id));
    },

    async resume(caller, id) {
      if (await store.batches.resume(caller.orgId, id, time.now())) runner.wake();
      return mustBeOpen(await viewOwned(caller.orgId, id));
    },

    async retry(caller, id, creation) {
      const of = await owned(caller.orgId, id);
      requireFailures(of);
      const errors = await readResults(reading, of, 'errors', 0);
      const lines = await failedLines({ ...parts, now: time.now() }, of, errors.bytes);
      const { id: newId, replayed } = await retryBatch(creating, caller, { of, lines }, creation);
      runner.wake();
      return { batch: await viewOwned(caller.orgId, newId), replayed };
    },

    async follow(caller, id, signal) {
      await owned(caller.orgId, id);
      return followers.follow(id, signal);
    },

    async results(caller, id, stream, after) {
      return readResults(reading, await owned(caller.orgId, id), stream, after);
    },
  };

  async function stopOnce(): Promise<void> {
    followers.stop();
    if (!started) return;
    await watch.stop();
    await runner.drain(parts.drainMs);
    await heartbeat.stop();
    // Leases that cannot be given back now run out by themselves.
    await store.workers
      .leave(worker)
      .catch((error: unknown) => log.error({ err: error }, 'leases could not be given back'));
  }
}

function mustBeOpen(view: BatchView): BatchView {
  const { batch } = view;
  if (batch.closing === null) return view;
  throw new ApiError(
    'batch_not_pausable',
    isFinal(batch.status) ? `The batch is ${batch.status}.` : 'The end of the batch is decided.',
  );
}
