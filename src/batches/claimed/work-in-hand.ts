import type { Clock } from '../../base/clock.ts';
import { ApiError } from '../../core/errors.ts';
import type { Lease } from '../../store/contract/claim.ts';
import { type HeldChunk, HeldChunks, leaseOf, type RunningBatch } from './held-chunks.ts';

/** What this process has in hand: leased chunks, and so the batches it runs lines of. Soft state; the store counts. */
export class WorkInHand {
  readonly held = new HeldChunks();
  #clock: Clock;
  #giveBack: (leases: Lease[]) => void;

  /** @param giveBack leases of what was yielded: others may run it */
  constructor(clock: Clock, giveBack: (leases: Lease[]) => void) {
    this.#clock = clock;
    this.#giveBack = giveBack;
  }

  batch(id: string): RunningBatch | undefined {
    // One that is new is looked for in vain: nothing is copied for that.
    for (const { batch } of this.held.chunks) if (batch.id === id) return batch;
    return undefined;
  }

  batches(): RunningBatch[] {
    return [...new Set([...this.held.chunks].map(({ batch }) => batch))];
  }

  /** Nothing more of this batch is sent; its calls are aborted after `graceMs`. */
  stopBatch(batchId: string, graceMs: number): void {
    const batch = this.batch(batchId);
    if (!batch || batch.stopping) return;
    batch.stopping = true;
    const chunks = this.held.ofBatch(batchId);
    for (const held of chunks) this.held.clearTodo(held);
    const reason = new ApiError('batch_cancelled', 'The batch takes no more results.');
    if (graceMs <= 0) batch.abort.abort(reason);
    else this.#clock.after(graceMs, () => batch.abort.abort(reason));
    for (const held of chunks) this.settle(held);
  }

  /** Nothing more of this batch is sent until `resumeBatch`; what is in flight may land. */
  yieldBatch(batchId: string): void {
    const batch = this.batch(batchId);
    if (!batch || batch.stopping) return;
    batch.yielding = true;
    for (const held of this.held.ofBatch(batchId)) this.yieldChunk(held);
  }

  /** What comes of the batch from now on is sent. */
  resumeBatch(batchId: string): void {
    const batch = this.batch(batchId);
    if (batch) batch.yielding = false;
  }

  /** Nothing more of this chunk is sent here: others may run it as soon as what is in flight has landed. */
  yieldChunk(held: HeldChunk): void {
    if (held.yielding || held.batch.stopping) return;
    held.yielding = true;
    this.held.clearTodo(held);
    this.settle(held);
  }

  /** Others have taken what is not among these: nothing more of it is sent, and what lands of it counts where it is the first. */
  keepOnly(leases: readonly Lease[]): void {
    const left = new Set(leases.map(nameOf));
    for (const held of this.held.chunks) if (!left.has(nameOf(leaseOf(held.chunk)))) this.yieldChunk(held);
  }

  /** A line landed: a chunk of which nothing more is sent is let go of when it was the last. */
  settle(held: HeldChunk): void {
    if (!(held.yielding || held.batch.stopping) || held.inFlight > 0 || !this.held.has(held)) return;
    this.held.drop(held);
    if (!held.batch.stopping) this.#giveBack([leaseOf(held.chunk)]);
  }

  /** Aborts a batch's calls and lets go of its chunks at once. */
  dropBatch(batchId: string, reason: Error): void {
    const batch = this.batch(batchId);
    if (!batch) return;
    batch.stopping = true;
    batch.abort.abort(reason);
    for (const held of this.held.ofBatch(batchId)) this.held.drop(held);
  }

  /** Lets go of everything. */
  dropAll(reason: Error): void {
    for (const batch of this.batches()) this.dropBatch(batch.id, reason);
  }
}

function nameOf({ batchId, seq, epoch }: Lease): string {
  return `${batchId}/${seq}/${epoch}`;
}
