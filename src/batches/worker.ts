import type { Batch } from '../core/batch.ts';
import { isDatabaseUnavailable } from '../core/database-fault.ts';
import { soleDuties } from '../core/duties.ts';
import { createCatalog } from '../core/model.ts';
import { runsBatches } from '../core/role.ts';
import type { WorkerLoad } from '../core/worker-load.ts';
import type { BatchContext, BatchesDeps } from './batch-context.ts';
import { Finalizer } from './finalize/finalizer.ts';
import { Heartbeat, leaseLifeMs } from './maintenance/heartbeat.ts';
import { Maintenance } from './maintenance/maintenance.ts';
import { createRetention } from './maintenance/retention.ts';
import { MissingModels } from './missing-models.ts';
import { OpenHours } from './open-hours.ts';
import { currentLoad } from './process-load.ts';
import { createArrivals } from './queue/arrivals.ts';
import { createWaitSources, type WaitSources } from './read/waiting.ts';
import { removeFiles } from './remove.ts';
import { RecentBodies } from './requests/recent-bodies.ts';
import { RequestResults } from './requests/request-results.ts';
import { Runner } from './runner.ts';

/** Everything of the batch engine that works by itself in one process. */
export interface Worker {
  context: BatchContext & Required<Pick<BatchesDeps, 'duties'>>;
  runner: Runner;
  requestResults: RequestResults;
  waitSources: WaitSources;
  load(): WorkerLoad;
  /** Removes a finished batch with its files. Its bills remain. */
  remove(batch: Batch): Promise<void>;
  /** Recovers the work of an earlier process, then runs batches. Returns false if `stop` was called meanwhile. */
  start(): Promise<boolean>;
  stop(): Promise<void>;
}

export function createWorker(deps: BatchesDeps): Worker {
  const { catalog, peers, time, ids, log, batch: settings, role = 'all' } = deps;
  const { duties = soleDuties() } = deps;
  const claims = runsBatches(role);
  const requestResults = new RequestResults({ ...deps, store: deps.store.requests });
  const store = {
    ...deps.store,
    requests: new RecentBodies().before(deps.store.requests),
    results: requestResults.watching(deps.store.results),
  };
  const worker = ids.next('wrk_');
  let startedAt = time.now();
  let isStopped = false;
  let isStarted = false;

  /** Names of the models whose lines run outside this process, and so cannot have ended it. */
  const detached = () =>
    catalog
      .list()
      .filter(({ id }) => deps.capacity.isDetached(id))
      .flatMap(({ id, aliases }) => [id, ...aliases]);
  const load = () =>
    currentLoad(
      deps,
      {
        process: { ...deps.process, role, startedAt },
        lines: runner.work.chunks.totalInFlight(),
        rates: runner.throughput.rates(),
      },
      claims,
    );
  // A heartbeat tests reads and writes without changing a batch.
  const probe = () => store.workers.beat(worker, load());
  if (!deps.exclusive) peers.refreshBy(async () => (await probe()).others);
  const missing = new MissingModels({ ...deps, lostAfterMs: settings.lostModelAfterMs });
  peers.onUpdate(() => missing.onPeersUpdated());
  const context = {
    ...deps,
    duties,
    store,
    worker,
    missing,
    hours: new OpenHours(peers, time),
    isDatabaseDown: (error: unknown) => isDatabaseUnavailable(error, probe),
    holdsLeases: (since?: number) => heartbeat.holds(since),
  };
  const finalizer = new Finalizer(context);
  const runner: Runner = new Runner({ ...context, finalizer, claims });
  const wake = () => runner.wake();
  const arrivals = createArrivals({ ...context, peers, hasRoom: () => runner.hasRoom, wake });
  // The clock of an embedded database is that of this machine: when it jumps, no time has passed for the batches.
  const moveWindows = async (by: number): Promise<void> => {
    const batches = await store.batches.moveWindows(by);
    log.warn(
      { by_ms: by, batches },
      'the clock of this machine jumped; the windows of open batches moved along',
    );
  };
  const heartbeat: Heartbeat = new Heartbeat({
    ...context,
    load,
    giveBackStrays: () => runner.giveBackStrays(),
    detached,
    onReaped: wake,
    moveWindows: deps.exclusive ? moveWindows : null,
    onRefetched: (leases) => runner.work.keepOnly(leases),
  });
  const maintenance = new Maintenance({
    ...context,
    work: runner.work,
    onWork: wake,
    purge: (batchId) => finalizer.purge(batchId),
  });
  const waitSources = createWaitSources({
    ...context,
    // Lines of batches wait for the models of the processes that run them.
    catalog: claims ? catalog : createCatalog([]),
    storage: (id) => runner.storage(id),
    hasJustRun: (id) => runner.recentRuns.has(id),
  });

  const remove = async (batch: Batch): Promise<void> => {
    await removeFiles(deps, batch);
    await finalizer.purge(batch.id);
    await store.batches.remove(batch.orgId, batch.id, time.now());
  };
  const retention =
    settings.keepMs === undefined
      ? undefined
      : createRetention({ ...context, keepMs: settings.keepMs, remove });

  return {
    context,
    runner,
    requestResults,
    waitSources,
    load,
    remove,

    async start() {
      startedAt = time.now();
      if (deps.exclusive) {
        await store.workers.clear();
        await store.workers.reap(time.now() + leaseLifeMs, detached());
      }
      await heartbeat.start();
      if (isStopped) {
        await heartbeat.stop();
        return false;
      }
      isStarted = true;
      runner.start();
      maintenance.start();
      await retention?.start();
      await requestResults.start();
      if (claims) await arrivals.start();
      return true;
    },

    async stop() {
      isStopped = true;
      if (!isStarted) return;
      await retention?.stop();
      await requestResults.stop();
      await arrivals.stop();
      await maintenance.stop();
      await runner.drain(deps.drainMs);
      await heartbeat.stop();
      // Leases that are not released now lapse.
      await store.workers
        .leave(worker)
        .catch((error: unknown) => log.error({ err: error }, 'leases could not be released'));
    },
  };
}
