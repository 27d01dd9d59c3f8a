import { sleep } from '../base/clock.ts';
import type { Chunk } from '../core/batch.ts';
import { ApiError } from '../core/errors.ts';
import type { Waiting } from '../core/waiting.ts';
import type { Lease } from '../store/contract/claim.ts';
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
import { Recorder } from './record/recorder.ts';
import { storageUnavailable, BatchBackoff } from './claimed/batch-backoff.ts';
import { PoisonSuspects } from './claimed/poison-suspects.ts';
import { LocalWork } from './claimed/local-work.ts';

/** How long a drain waits for its last answers to be recorded. */
const lastFlushMs = 10_000;

/** How many batches are closed at the same time, most of them waiting for their last answers. */
const maxClosing = 64;

export interface RunnerDeps extends BatchContext {
  finalizer: Finalizer;
}

/**
 * The run loop: the claimer brings chunks, the dispatcher sends their lines and the recorder commits the answers
 * (batch-engine.md). Whoever makes work calls `wake`; everything else happens by polling and by lines coming back.
 */
export class Runner {
  readonly work: LocalWork;
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
    const { capacity, catalog, clock } = deps;
    const work = new LocalWork(clock, (leases) => void this.#giveBack(leases));
    const suspects = new PoisonSuspects(work.chunks, clock);
    const fairness = new Fairness();
    const fail = (batchId: string, message: string) => this.#fail(batchId, message);
    const backoff = new BatchBackoff({ ...deps, work, fail });
    const recorder = new Recorder({
      ...deps,
      onRecorded: (outcomes, finished) => this.#recorded(outcomes, finished),
      onRefused: async (batchId, error) => {
        // First, so that nobody here runs it again where its end cannot be written.
        await backoff.add(batchId, error, null);
        await fail(batchId, 'The database does not take a result of the batch.');
      },
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
    this.#slots = slots;
    this.#recorder = recorder;
    this.#backoff = backoff;
    this.#dispatcher = new Dispatcher({
      ...deps,
      work,
      suspects,
      demand,
      fairness,
      recorder,
      backoff,
      warmup: new PrefixWarmup(clock),
      slots,
      affinity,
      fetch: () => this.#claimer.fetch(),
    });
    capacity.onRoom(() => this.#dispatcher.dispatch());
    this.#claimer = new Claimer({
      ...deps,
      work,
      suspects,
      demand,
      catalog,
      fairness,
      backoff,
      fail,
      closings: () => maxClosing - this.#closing.size,
      close: (chunk) => this.#close(chunk),
      dispatch: () => this.#dispatcher.dispatch(),
    });
  }

  /** Why nothing of a batch can be read or written at present. */
  storage(batchId: string): Waiting | null {
    const { stuckSince } = this.#recorder;
    return (
      this.#backoff.storageWaiting(batchId) ?? (stuckSince === null ? null : storageUnavailable(stuckSince))
    );
  }

  start(): void {
    this.#running = true;
    this.#dispatcher.start();
    this.#claimer.start();
  }

  /** Takes no new work, waits up to `ms` for what is in flight, aborts the rest. What was answered is recorded. */
  async drain(ms: number): Promise<void> {
    if (!this.#running) return;
    this.#running = false;
    const { clock, finalizer } = this.#deps;
    this.#dispatcher.stop();
    this.#slots.stop();
    const claimed = this.#claimer.stop();
    const deadline = clock.monotonic() + ms;
    while (this.work.chunks.totalInFlight() > 0 && clock.monotonic() < deadline) await sleep(clock, 10);
    this.work.dropAll(new ApiError('shutting_down', 'The server is shutting down.'));
    await claimed;
    // A database that does not answer must not keep the process from ending: what it did not take runs again elsewhere.
    await Promise.race([this.#recorder.flush(), sleep(clock, lastFlushMs)]);
    this.#recorder.abandon();
    finalizer.stop();
    await Promise.all(this.#closing);
  }

  /** There may be something to claim. */
  wake(): void {
    if (this.#running) this.#claimer.wake();
  }

  /** Gives back what is leased by this process in the store only: the answer to a claim was lost, or what it brought dropped. */
  async giveBackStrays(): Promise<void> {
    const { store, worker } = this.#deps;
    const leased = await store.workers.leases(worker);
    // What the claim under way brings may be among them; what a later one brings is not.
    await this.#claimer.settled();
    const strays = leased.filter((lease) => !this.work.chunks.holdsLease(lease));
    if (strays.length > 0) await store.batches.release(worker, strays);
  }

  /** Once its answers are recorded: whoever takes it before would ask for them again. What cannot go back now goes after the next heartbeat. */
  async #giveBack(leases: Lease[]): Promise<void> {
    const { store, worker, log } = this.#deps;
    await this.#recorder.flush();
    await store.batches
      .release(worker, leases)
      .catch((error: unknown) => log.warn({ err: error, leases: leases.length }, 'leases were kept'));
  }

  #close(chunk: Chunk): void {
    const lease = leaseOf(chunk);
    this.work.chunks.lease(lease);
    const closing = this.#closeRecorded(lease)
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

  async #closeRecorded(lease: Lease): Promise<void> {
    await this.#recorder.flush();
    await this.#deps.finalizer.close(lease);
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
    // There is a batch to close, or room for another suspect; for lines the dispatcher asks.
    if (outcomes.some(({ complete }) => complete) || chunks.suspects.length < suspects) this.wake();
    this.#dispatcher.dispatch();
  }

  async #fail(batchId: string, message: string): Promise<void> {
    const { store, time, log } = this.#deps;
    log.error({ batch: batchId }, message);
    const fault = { code: 'batch_failed', message, param: null, line: null };
    // Where that cannot be written, the chunks are let go: whoever claims them comes to the same end.
    await store.batches
      .fail(batchId, fault, time.now())
      .catch((error: unknown) => log.error({ err: error, batch: batchId }, 'a batch could not be failed'));
    this.work.dropBatch(batchId, new ApiError('batch_failed', message));
    this.wake();
  }
}
