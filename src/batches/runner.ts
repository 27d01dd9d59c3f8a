import { sleep } from '../base/clock.ts';
import type { Chunk } from '../core/batch.ts';
import { ApiError, shuttingDown } from '../core/errors.ts';
import { isGroup } from '../core/request-group.ts';
import type { Waiting } from '../core/waiting.ts';
import type { ClaimedBatch, Lease } from '../store/contract/claim.ts';
import type { RecordOutcome } from '../store/contract/results.ts';
import { Claimer } from './queue/claimer.ts';
import type { Finalizer } from './finalize/finalizer.ts';
import { ClaimDemand } from './queue/claim-demand.ts';
import { SlotLeases } from './queue/slot-leases.ts';
import { Dispatcher } from './run/dispatcher.ts';
import { Fairness } from './queue/fairness.ts';
import type { BatchContext } from './batch-context.ts';
import { leaseOf } from './claimed/claimed-chunks.ts';
import { PrefixAffinity } from './claimed/prefix-affinity.ts';
import { PrefixWarmup } from './run/prefix-warmup.ts';
import { RecentRuns } from './run/recent-runs.ts';
import { Throughput } from './run/throughput.ts';
import { Recorder } from './record/recorder.ts';
import { storageUnavailable, BatchBackoff } from './claimed/batch-backoff.ts';
import { poisonKills, PoisonSuspects } from './claimed/poison-suspects.ts';
import { LocalWork } from './claimed/local-work.ts';

/** Longest time that a drain waits for the last results to be recorded. */
const lastFlushMs = 10_000;
/** Batches that are closed at a time; most of them wait for their last answers. */
const maxClosing = 64;

export interface RunnerDeps extends BatchContext {
  finalizer: Finalizer;
  /** False for a process that runs only the chunks that it leases when it creates them. */
  claims: boolean;
}

/**
 * The run loop: the claimer brings chunks, the dispatcher sends their lines and the recorder commits the answers
 * (batch-engine.md). `wake` announces new work; polling and answers drive everything else.
 */
export class Runner {
  readonly work: LocalWork;
  readonly throughput: Throughput;
  readonly recentRuns: RecentRuns;
  #backoff: BatchBackoff;
  #deps: RunnerDeps;
  #recorder: Recorder;
  #claimer: Claimer;
  #dispatcher: Dispatcher;
  #slots: SlotLeases;
  #closing = new Set<Promise<void>>();
  #running = false;

  constructor(deps: RunnerDeps) {
    this.#deps = deps;
    const { capacity, clock } = deps;
    const work = new LocalWork(clock, {
      release: (lease) => void this.#giveBack([lease]),
      finish: ({ chunk, suspect }) => {
        if (suspect && chunk.kills < poisonKills) suspects.answered();
        recorder.finish(leaseOf(chunk));
      },
    });
    const suspects = new PoisonSuspects(work.chunks, clock);
    const fairness = new Fairness();
    const backoff = new BatchBackoff({
      ...deps,
      work,
      fail: (batchId, message) => this.#fail(batchId, message),
    });
    const recorder = new Recorder({
      ...deps,
      onRecorded: (outcomes, finished) => this.#recorded(outcomes, finished),
      onRefused: (batchId, error) =>
        backoff.fail(batchId, error, 'The database rejects a result of the batch.'),
    });
    const affinity = new PrefixAffinity(capacity, work.chunks);
    const demand = new ClaimDemand({ ...deps, work, affinity, recorder });
    const slots = new SlotLeases({
      ...deps,
      chunks: work.chunks,
      limit: (model) => demand.limit(model),
      onRoom: () => this.#dispatcher.dispatch(),
    });
    this.work = work;
    this.throughput = new Throughput(clock);
    this.recentRuns = new RecentRuns(clock);
    this.#slots = slots;
    this.#recorder = recorder;
    this.#backoff = backoff;
    this.#dispatcher = new Dispatcher({
      ...deps,
      work,
      demand,
      fairness,
      recorder,
      backoff,
      warmup: new PrefixWarmup(clock),
      throughput: this.throughput,
      recentRuns: this.recentRuns,
      slots,
      affinity,
      isRunning: () => this.#running,
      fetch: () => this.#claimer.fetch(),
    });
    capacity.onRoom(() => this.#dispatcher.dispatch());
    deps.controls.onChange(() => this.wake());
    deps.budgets.onRoom(() => this.wake());
    this.#claimer = new Claimer({
      ...deps,
      work,
      suspects,
      demand,
      fairness,
      backoff,
      closings: () => maxClosing - this.#closing.size,
      close: (chunk) => this.#close(chunk),
      dispatch: () => this.#dispatcher.dispatch(),
    });
  }

  /** Reason why the stored data of a batch is unavailable; null while it is available. */
  storage(batchId: string): Waiting | null {
    const { stuckSince } = this.#recorder;
    return (
      this.#backoff.storageWaiting(batchId) ?? (stuckSince === null ? null : storageUnavailable(stuckSince))
    );
  }

  start(): void {
    this.#running = true;
    this.#claimer.start();
  }

  /** Takes no new work, waits up to `ms` for requests in flight, aborts the rest, and records all answers. */
  async drain(ms: number): Promise<void> {
    if (!this.#running) return;
    this.#running = false;
    const { clock, finalizer, capacity } = this.#deps;
    const isAwaited = (model: string) => !capacity.isDetached(model);
    this.#slots.stop();
    const claimed = this.#claimer.stop();
    const deadline = clock.monotonic() + ms;
    while (this.work.chunks.totalInFlight(isAwaited) > 0 && clock.monotonic() < deadline)
      await sleep(clock, 10);
    this.work.dropAll(shuttingDown());
    await claimed;
    // A hanging database must not block the shutdown: unrecorded lines run again elsewhere.
    await Promise.race([this.#recorder.flush(), sleep(clock, lastFlushMs)]);
    this.#recorder.abandon();
    finalizer.stop();
    await Promise.all(this.#closing);
  }

  /** True if more lines of some model may be sent now. */
  get hasRoom(): boolean {
    return this.#claimer.hasRoom;
  }

  wake(): void {
    if (this.#running) this.#claimer.wake();
  }

  /** Runs chunks that this process has leased at their creation, as interactive requests. */
  runNow(batch: ClaimedBatch, chunks: readonly Chunk[]): void {
    for (const claimed of this.#claimer.adopt(batch, chunks)) this.#dispatcher.sendNow(claimed);
  }

  /** Releases leases that only the store knows: the answer to their claim was lost, or their chunks were dropped. */
  async giveBackStrays(): Promise<void> {
    const { store, worker } = this.#deps;
    const leased = await store.workers.leases(worker);
    // The current claim may bring some of them; a later claim cannot.
    await this.#claimer.settled();
    const strays = leased.filter((lease) => !this.work.chunks.holdsLease(lease));
    if (strays.length > 0) await store.batches.release(worker, strays);
  }

  /** Releases leases after their answers are recorded, so that no line is sent twice. If this fails, the next heartbeat repeats it. */
  async #giveBack(leases: Lease[]): Promise<void> {
    const { store, worker, log } = this.#deps;
    await this.#recorder.flush();
    await store.batches
      .release(worker, leases)
      .catch((error: unknown) =>
        log.warn({ err: error, leases: leases.length }, 'leases could not be released'),
      );
  }

  #close(chunk: Chunk): void {
    const lease = leaseOf(chunk);
    this.work.chunks.lease(lease);
    const closing = this.#recorder
      .flush()
      .then(() => this.#deps.finalizer.close(lease))
      .catch((error: unknown) => this.#closeLater(lease, error))
      .finally(() => {
        this.#closing.delete(closing);
        this.work.chunks.unlease(lease);
        this.wake();
      });
    this.#closing.add(closing);
  }

  async #closeLater(lease: Lease, error: unknown): Promise<void> {
    await this.#backoff.add(lease.batchId, error, null);
    await this.#giveBack([lease]);
  }

  #recorded(outcomes: readonly RecordOutcome[], finished: readonly Lease[]): void {
    const { chunks } = this.work;
    const suspects = chunks.suspects.length;
    for (const lease of finished) chunks.unlease(lease);
    for (const { batchId, kept, closed } of outcomes) {
      if (kept > 0) this.#backoff.clearStorage(batchId);
      if (closed)
        this.work.dropBatch(batchId, new ApiError('batch_cancelled', 'The batch takes no more results.'));
    }
    // A batch can be closed, or another suspect claimed. A complete group has ended.
    if (
      outcomes.some(({ batchId, complete }) => complete && !isGroup(batchId)) ||
      chunks.suspects.length < suspects
    )
      this.wake();
    this.#dispatcher.dispatch();
  }

  async #fail(batchId: string, message: string): Promise<void> {
    const { store, time, log } = this.#deps;
    log.error({ batch: batchId }, message);
    const fault = { code: 'batch_failed', message, param: null, line: null };
    // If this fails, the next process that claims the chunks fails the batch again.
    await store.batches
      .fail(batchId, fault, time.now())
      .catch((error: unknown) => log.error({ err: error, batch: batchId }, 'a batch could not be failed'));
    this.work.dropBatch(batchId, new ApiError('batch_failed', message));
    this.wake();
  }
}
