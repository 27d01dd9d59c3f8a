import type { Clock } from '../../base/clock.ts';
import { ApiError } from '../../core/errors.ts';
import { isGroup, type LinePlace } from '../../core/request-group.ts';
import type { Lease } from '../../store/contract/claim.ts';
import { type ClaimedChunk, ClaimedChunks, leaseOf, type RunningBatch } from './claimed-chunks.ts';

/** Work of this process: its claimed chunks, and so the batches it runs lines of. Soft state; the store is the authority. */
export class LocalWork {
  readonly chunks = new ClaimedChunks();
  #clock: Clock;
  #giveBack: (leases: Lease[]) => void;

  /** @param giveBack releases the leases of yielded chunks, so that other processes can claim them */
  constructor(clock: Clock, giveBack: (leases: Lease[]) => void) {
    this.#clock = clock;
    this.#giveBack = giveBack;
  }

  batch(id: string): RunningBatch | undefined {
    // Misses are common (new batches), so iterate without allocating.
    for (const { batch } of this.chunks.all) if (batch.id === id) return batch;
    return undefined;
  }

  batches(): RunningBatch[] {
    return [...new Set([...this.chunks.all].map(({ batch }) => batch))];
  }

  /** Single requests that this process has sent or will send. */
  requests(): LinePlace[] {
    return [...this.chunks.all].flatMap(({ batch, chunk }) =>
      isGroup(batch.id)
        ? chunk.lines
            .filter(({ line }) => !batch.cancelled.has(line))
            .map(({ line }) => ({ batchId: batch.id, line }))
        : [],
    );
  }

  /** Sends no more lines of a batch, and aborts its calls after `graceMs`. */
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

  /** Sends no more lines of a batch until `resumeBatch`; lines in flight go on. */
  yieldBatch(batchId: string): void {
    const batch = this.batch(batchId);
    if (!batch || batch.stopping) return;
    batch.yielding = true;
    for (const claimed of this.chunks.ofBatch(batchId)) this.yieldChunk(claimed);
  }

  resumeBatch(batchId: string): void {
    const batch = this.batch(batchId);
    if (batch) batch.yielding = false;
  }

  /** Takes over a change of the order of batches. */
  reorderBatch(batchId: string, due: number): void {
    const batch = this.batch(batchId);
    if (batch) batch.due = due;
  }

  /** Sends no more lines of a chunk, and releases it when its lines in flight have ended. */
  yieldChunk(claimed: ClaimedChunk): void {
    if (claimed.yielding || claimed.batch.stopping) return;
    claimed.yielding = true;
    this.chunks.clearTodo(claimed);
    this.settle(claimed);
  }

  /** Yields all chunks whose lease is not in `leases`: other processes have taken them. Lines in flight still count if they end first. */
  keepOnly(leases: readonly Lease[]): void {
    const left = new Set(leases.map(nameOf));
    for (const claimed of this.chunks.all)
      if (!left.has(nameOf(leaseOf(claimed.chunk)))) this.yieldChunk(claimed);
  }

  /** Drops a stopped or yielded chunk that has no line in flight. */
  settle(claimed: ClaimedChunk): void {
    if (!(claimed.yielding || claimed.batch.stopping) || claimed.inFlight > 0 || !this.chunks.has(claimed))
      return;
    this.chunks.drop(claimed);
    if (!claimed.batch.stopping) this.#giveBack([leaseOf(claimed.chunk)]);
  }

  /** Aborts a batch's calls and drops its chunks at once. */
  dropBatch(batchId: string, reason: Error): void {
    const batch = this.batch(batchId);
    if (!batch) return;
    batch.stopping = true;
    batch.abort.abort(reason);
    for (const claimed of this.chunks.ofBatch(batchId)) this.chunks.drop(claimed);
  }

  dropAll(reason: Error): void {
    for (const batch of this.batches()) this.dropBatch(batch.id, reason);
  }
}

function nameOf({ batchId, seq, epoch }: Lease): string {
  return `${batchId}/${seq}/${epoch}`;
}
