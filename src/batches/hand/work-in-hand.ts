import type { Clock } from '../../base/clock.ts';
import { ApiError } from '../../core/errors.ts';
import type { Lease } from '../../store/store.ts';
import { HeldChunks, leaseOf, type RunningBatch } from './held-chunks.ts';

/** What this process has in hand: batches it runs lines of, and their leased chunks. Soft state; the store counts. */
export class WorkInHand {
  readonly held = new HeldChunks();
  #clock: Clock;
  #batches = new Map<string, RunningBatch>();
  #giveBack: (leases: Lease[]) => void;

  /** @param giveBack leases of what was yielded: others may run it */
  constructor(clock: Clock, giveBack: (leases: Lease[]) => void) {
    this.#clock = clock;
    this.#giveBack = giveBack;
  }

  batch(id: string): RunningBatch | undefined {
    return this.#batches.get(id);
  }

  batches(): RunningBatch[] {
    return [...this.#batches.values()];
  }

  addBatch(batch: RunningBatch): void {
    this.#batches.set(batch.id, batch);
  }

  /** Nothing more of this batch is sent; its calls are aborted after `graceMs`. */
  stopBatch(batchId: string, graceMs: number): void {
    const batch = this.#batches.get(batchId);
    if (!batch || (batch.stopping && !batch.yielding)) return;
    batch.stopping = true;
    batch.yielding = false;
    for (const held of this.held.ofBatch(batchId)) this.held.clearTodo(held);
    const reason = new ApiError('batch_cancelled', 'The batch takes no more results.');
    if (graceMs <= 0) batch.abort.abort(reason);
    else this.#clock.after(graceMs, () => batch.abort.abort(reason));
    this.settle(batchId);
  }

  /** Nothing more of this batch is sent for now; what is in flight may land. Its leases are given back then. */
  yieldBatch(batchId: string): void {
    const batch = this.#batches.get(batchId);
    if (!batch || batch.stopping) return;
    batch.stopping = true;
    batch.yielding = true;
    for (const held of this.held.ofBatch(batchId)) this.held.clearTodo(held);
    this.settle(batchId);
  }

  /** Drops the chunks of a stopping batch once nothing of it is in flight. */
  settle(batchId: string): void {
    const batch = this.#batches.get(batchId);
    if (!batch?.stopping) return;
    const chunks = this.held.ofBatch(batchId);
    if (chunks.some((held) => held.inFlight > 0)) return;
    for (const held of chunks) this.held.drop(held);
    this.#batches.delete(batchId);
    if (batch.yielding && chunks.length > 0) this.#giveBack(chunks.map(({ chunk }) => leaseOf(chunk)));
  }

  /** Aborts a batch's calls and lets go of its chunks at once. */
  dropBatch(batchId: string, reason: Error): void {
    const batch = this.#batches.get(batchId);
    if (!batch) return;
    batch.stopping = true;
    batch.abort.abort(reason);
    for (const held of this.held.ofBatch(batchId)) this.held.drop(held);
    this.#batches.delete(batchId);
  }

  /** Lets go of everything. */
  dropAll(reason: Error): void {
    for (const batch of this.batches()) this.dropBatch(batch.id, reason);
  }

  /** Forgets batches none of whose chunks is in hand. */
  forgetIdle(): void {
    const working = new Set(this.held.batchIds());
    for (const batchId of this.#batches.keys()) if (!working.has(batchId)) this.#batches.delete(batchId);
  }
}
