import { sleep } from '../base/clock.ts';
import type { Chunk } from '../core/batch.ts';
import { ApiError } from '../core/errors.ts';
import type { Waiting } from '../core/waiting.ts';
import type { Lease } from '../store/contract/claim.ts';
import type { RecordOutcome } from '../store/contract/results.ts';
import { Claimer } from './queue/claimer.ts';
import type { Closer } from './close/closer.ts';
import { Demand } from './queue/demand.ts';
import { SlotLeases } from './queue/slot-leases.ts';
import { Dispatcher } from './run/dispatcher.ts';
import { Fairness } from './queue/fairness.ts';
import type { Ground } from './ground.ts';
import { leaseOf } from './claimed/held-chunks.ts';
import { PrefixLanes } from './claimed/prefix-lanes.ts';
import { PrefixLeaders } from './run/prefix-leaders.ts';
import { Recorder } from './record/recorder.ts';
import { noStorageSince, Setbacks } from './claimed/setbacks.ts';
import { Suspects } from './claimed/suspects.ts';
import { WorkInHand } from './claimed/work-in-hand.ts';

/** How long a drain waits for its last answers to be recorded. */
const lastFlushMs = 10_000;

/** How many batches are closed at the same time, most of them waiting for their last answers. */
const maxClosing = 64;

export interface RunnerDeps extends Ground {
  closer: Closer;
}

/**
 * The run loop: the claimer brings chunks, the dispatcher sends their lines and the recorder commits the answers
 * (batch-engine.md). Whoever makes work calls `wake`; everything else happens by polling and by lines coming back.
 */
export class Runner {
  readonly work: WorkInHand;
  #setbacks: Setbacks;
  #parts: RunnerDeps;
  #recorder: Recorder;
  #claimer: Claimer;
  #dispatcher: Dispatcher;
  #slots: SlotLeases;
  #closing = new Set<Promise<void>>();
  #running = false;

  constructor(parts: RunnerDeps) {
    this.#parts = parts;
    const { generate, clock } = parts;
    const work = new WorkInHand(clock, (leases) => void this.#giveBack(leases));
    const suspects = new Suspects(work.held, clock);
    const fairness = new Fairness();
    const fail = (batchId: string, message: string) => this.#fail(batchId, message);
    const setbacks = new Setbacks({ ...parts, work, fail });
    const recorder = new Recorder({
      ...parts,
      onRecorded: (outcomes, finished) => this.#recorded(outcomes, finished),
      onRefused: async (batchId, error) => {
        // First, so that nobody here runs it again where its end cannot be written.
        await setbacks.add(batchId, error, null);
        await fail(batchId, 'The database does not take a result of the batch.');
      },
    });
    const lanes = new PrefixLanes(generate, work.held);
    const demand = new Demand({ ...parts, work, lanes, recorder });
    const slots = new SlotLeases({
      ...parts,
      held: work.held,
      limit: (model) => demand.limit(model),
      onRoom: () => this.#dispatcher.dispatch(),
    });
    this.work = work;
    this.#slots = slots;
    this.#recorder = recorder;
    this.#setbacks = setbacks;
    this.#dispatcher = new Dispatcher({
      ...parts,
      work,
      suspects,
      demand,
      fairness,
      recorder,
      setbacks,
      leaders: new PrefixLeaders(clock),
      slots,
      lanes,
      fetch: () => this.#claimer.fetch(),
    });
    generate.onRoom(() => this.#dispatcher.dispatch());
    this.#claimer = new Claimer({
      ...parts,
      work,
      suspects,
      demand,
      catalog: generate.catalog,
      fairness,
      setbacks,
      fail,
      closings: () => maxClosing - this.#closing.size,
      close: (chunk) => this.#close(chunk),
      dispatch: () => this.#dispatcher.dispatch(),
    });
  }

  /** Why nothing of a batch can be read or written at present. */
  storage(batchId: string): Waiting | null {
    const { stuckSince } = this.#recorder;
    return this.#setbacks.storage(batchId) ?? (stuckSince === null ? null : noStorageSince(stuckSince));
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
    const { clock, closer } = this.#parts;
    this.#dispatcher.stop();
    this.#slots.stop();
    const claimed = this.#claimer.stop();
    const deadline = clock.monotonic() + ms;
    while (this.work.held.totalInFlight() > 0 && clock.monotonic() < deadline) await sleep(clock, 10);
    this.work.dropAll(new ApiError('shutting_down', 'The server is shutting down.'));
    await claimed;
    // A database that does not answer must not keep the process from ending: what it did not take runs again elsewhere.
    await Promise.race([this.#recorder.flush(), sleep(clock, lastFlushMs)]);
    this.#recorder.abandon();
    closer.stop();
    await Promise.all(this.#closing);
  }

  /** There may be something to claim. */
  wake(): void {
    if (this.#running) this.#claimer.wake();
  }

  /** Gives back what is leased by this process in the store only: the answer to a claim was lost, or what it brought dropped. */
  async giveBackStrays(): Promise<void> {
    const { store, worker } = this.#parts;
    const leased = await store.workers.leases(worker);
    // What the claim under way brings may be among them; what a later one brings is not.
    await this.#claimer.settled();
    const strays = leased.filter((lease) => !this.work.held.holds(lease));
    if (strays.length > 0) await store.batches.release(worker, strays);
  }

  /** Once its answers are recorded: whoever takes it before would ask for them again. What cannot go back now goes after the next heartbeat. */
  async #giveBack(leases: Lease[]): Promise<void> {
    const { store, worker, log } = this.#parts;
    await this.#recorder.flush();
    await store.batches
      .release(worker, leases)
      .catch((error: unknown) => log.warn({ err: error, leases: leases.length }, 'leases were kept'));
  }

  #close(chunk: Chunk): void {
    const lease = leaseOf(chunk);
    this.work.held.lease(lease);
    const closing = this.#closeRecorded(lease)
      .catch((error: unknown) => this.#closeLater(lease, error))
      .finally(() => {
        this.#closing.delete(closing);
        this.work.held.unlease(lease);
        this.wake();
      });
    this.#closing.add(closing);
  }

  async #closeLater(lease: Lease, error: unknown): Promise<void> {
    await this.#setbacks.add(lease.batchId, error, null);
    await this.#giveBack([lease]);
  }

  async #closeRecorded(lease: Lease): Promise<void> {
    await this.#recorder.flush();
    await this.#parts.closer.close(lease);
  }

  #recorded(outcomes: readonly RecordOutcome[], finished: readonly Lease[]): void {
    const { held } = this.work;
    const suspects = held.suspects.length;
    for (const lease of finished) held.unlease(lease);
    for (const { batchId, kept, closed } of outcomes) {
      if (kept > 0) this.#setbacks.goesOn(batchId);
      if (closed)
        this.work.dropBatch(batchId, new ApiError('batch_cancelled', 'The batch takes no more results.'));
    }
    // There is a batch to close, or room for another suspect; for lines the dispatcher asks.
    if (outcomes.some(({ complete }) => complete) || held.suspects.length < suspects) this.wake();
    this.#dispatcher.dispatch();
  }

  async #fail(batchId: string, message: string): Promise<void> {
    const { store, time, log } = this.#parts;
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
