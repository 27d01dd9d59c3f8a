import type { Clock } from '../../base/clock.ts';
import { ApiError } from '../../core/errors.ts';
import type { Lease } from '../../store/contract/claim.ts';
import { type ClaimedChunk, ClaimedChunks, leaseOf, type RunningBatch } from './claimed-chunks.ts';

/** What this process has in hand: leased chunks, and so the batches it runs lines of. Soft state; the store counts. */
export class LocalWork {
  readonly chunks = new ClaimedChunks();
  #clock: Clock;
  #giveBack: (leases: Lease[]) => void;

  /** @param giveBack leases of what was yielded: others may run it */
  constructor(clock: Clock, giveBack: (leases: Lease[]) => void) {
    this.#clock = clock;
    this.#giveBack = giveBack;
  }

  batch(id: string): RunningBatch | undefined {
    // One that is new is looked for in vain: nothing is copied for that.
    for (const { batch } of this.chunks.all) if (batch.id === id) return batch;
    return undefined;
  }

  batches(): RunningBatch[] {
    return [...new Set([...this.chunks.all].map(({ batch }) => batch))];
  }

  /** Nothing more of this batch is sent; its calls are aborted after `graceMs`. */
  stopBatch(batchId: string, graceMs: number): void {
    const batch = this.batch(batchId);
    if (!batch || batch.stopping) return;
    batch.stopping = true;
    const chunks = this.chunks.ofBatch(batchId);
    for (const claimed of chunks) this.chunks.clearTodo(claimed);
    const reason = new ApiError('batch_cancelled', 'The batch takes no more results.');
    if (graceMs <= 0) batch.abort.abort(reason);
    else this.#clock.after(graceMs, () => batch.abort.abort(reason));
    for (const claimed of chunks) this.settle(claimed);
  }

  /** Nothing more of this batch is sent until `resumeBatch`; what is in flight may land. */
  yieldBatch(batchId: string): void {
    const batch = this.batch(batchId);
    if (!batch || batch.stopping) return;
    batch.yielding = true;
    for (const claimed of this.chunks.ofBatch(batchId)) this.yieldChunk(claimed);
  }

  /** What comes of the batch from now on is sent. */
  resumeBatch(batchId: string): void {
    const batch = this.batch(batchId);
    if (batch) batch.yielding = false;
  }

  /** Nothing more of this chunk is sent here: others may run it as soon as what is in flight has landed. */
  yieldChunk(claimed: ClaimedChunk): void {
    if (claimed.yielding || claimed.batch.stopping) return;
    claimed.yielding = true;
    this.chunks.clearTodo(claimed);
    this.settle(claimed);
  }

  /** Others have taken what is not among these: nothing more of it is sent, and what lands of it counts where it is the first. */
  keepOnly(leases: readonly Lease[]): void {
    const left = new Set(leases.map(nameOf));
    for (const claimed of this.chunks.all)
      if (!left.has(nameOf(leaseOf(claimed.chunk)))) this.yieldChunk(claimed);
  }

  /** A line landed: a chunk of which nothing more is sent is let go of when it was the last. */
  settle(claimed: ClaimedChunk): void {
    if (!(claimed.yielding || claimed.batch.stopping) || claimed.inFlight > 0 || !this.chunks.has(claimed))
      return;
    this.chunks.drop(claimed);
    if (!claimed.batch.stopping) this.#giveBack([leaseOf(claimed.chunk)]);
  }

  /** Aborts a batch's calls and lets go of its chunks at once. */
  dropBatch(batchId: string, reason: Error): void {
    const batch = this.batch(batchId);
    if (!batch) return;
    batch.stopping = true;
    batch.abort.abort(reason);
    for (const claimed of this.chunks.ofBatch(batchId)) this.chunks.drop(claimed);
  }

  /** Lets go of everything. */
  dropAll(reason: Error): void {
    for (const batch of this.batches()) this.dropBatch(batch.id, reason);
  }
}

function nameOf({ batchId, seq, epoch }: Lease): string {
  return `${batchId}/${seq}/${epoch}`;
}
