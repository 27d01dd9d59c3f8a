import type { Clock } from '../../base/clock.ts';
import { ApiError } from '../../core/errors.ts';
import { isGroup, type LinePlace } from '../../core/request-group.ts';
import type { Lease } from '../../store/contract/claim.ts';
import {
  type ClaimedChunk,
  ClaimedChunks,
  type ClaimedLine,
  leaseOf,
  type RunningBatch,
} from './claimed-chunks.ts';
import {
  after,
  type BatchEvent,
  batchMachine,
  type ChunkEvent,
  followingEvent,
  isInFlight,
  type LineEvent,
  lineMachine,
} from './states.ts';

/** Actions of the process that follow from a new state of a chunk. */
export interface WorkEffects {
  /** Releases a lease once the answers of its lines are recorded, so that other processes can claim the chunk. */
  release: (lease: Lease) => void;
  /** Records a chunk as finished with the result of its last line. */
  finish: (claimed: ClaimedChunk) => void;
}

/**
 * Work of this process: its claimed chunks, and so the batches it runs lines of. Turns events into the states of `states.ts` and
 * into effects. Soft state; the store is the authority.
 */
export class LocalWork {
  readonly chunks = new ClaimedChunks();
  #clock: Clock;
  #effects: WorkEffects;

  constructor(clock: Clock, effects: WorkEffects) {
    this.#clock = clock;
    this.#effects = effects;
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
    return [...this.chunks.all].flatMap(({ batch, lines }) =>
      isGroup(batch.id)
        ? lines.filter(isCancellable).map(({ ref }) => ({ batchId: batch.id, line: ref.line }))
        : [],
    );
  }

  /** Returns the next line of a chunk, which is in flight from now on. */
  send(claimed: ClaimedChunk): ClaimedLine | undefined {
    const line = claimed.queue.shift();
    if (line) this.chunks.moveLine(line, 'send');
    return line;
  }

  /** Ends a line in flight that has its result. */
  answered(line: ClaimedLine): void {
    this.#moveAndSettle(line, 'answer');
  }

  /** Makes a line in flight wait until its model takes requests. Meanwhile other lines probe the model. */
  park(line: ClaimedLine): void {
    this.#moveAndSettle(line, canRetryHere(line) ? 'park' : 'withdraw');
  }

  /** Queues a line in flight again after `ms`, before all others of its chunk. @param onRetry called then */
  backOff(line: ClaimedLine, ms: number, onRetry: () => void): void {
    if (!canRetryHere(line)) return this.#moveAndSettle(line, 'withdraw');
    this.#moveAndSettle(line, 'back off');
    this.#clock.after(ms, () => {
      if (line.state === 'backing off') this.#queue(line.claimed, 'unshift', [line]);
      onRetry();
    });
  }

  /** Ends a line in flight without a result: the next owner of its chunk sends it. */
  withdraw(line: ClaimedLine): void {
    this.yieldChunk(line.claimed);
    this.#moveAndSettle(line, 'withdraw');
  }

  /** Queues the parked lines of a model after all others; false if there are none. */
  unpark(model: string): boolean {
    if (!this.chunks.hasParked(model)) return false;
    for (const claimed of this.chunks.all)
      if (claimed.model === model && claimed.count.parked > 0)
        this.#queue(
          claimed,
          'push',
          claimed.lines.filter(({ state }) => state === 'parked'),
        );
    return true;
  }

  /** Ends a single request whose result is recorded, and its call. */
  cancelRequest({ batchId, line: number }: LinePlace): void {
    for (const claimed of this.chunks.ofBatch(batchId)) {
      const line = claimed.lines.find(({ ref }) => ref.line === number);
      if (!line || !isCancellable(line)) continue;
      this.chunks.moveLine(line, 'cancel');
      claimed.queue = claimed.queue.filter((each) => each !== line);
      line.call?.abort(new ApiError('batch_cancelled', 'The request was cancelled.'));
      this.#settle(claimed);
    }
  }

  /** Sends no more lines of a batch, and aborts its calls after `graceMs`. */
  stopBatch(batchId: string, graceMs: number): void {
    const batch = this.batch(batchId);
    if (!batch || !moveBatch(batch, 'stop')) return;
    const reason = new ApiError('batch_cancelled', 'The batch takes no more results.');
    if (graceMs <= 0) batch.abort.abort(reason);
    else this.#clock.after(graceMs, () => batch.abort.abort(reason));
    for (const claimed of this.chunks.ofBatch(batchId)) this.#endSending(claimed, 'stop');
  }

  /** Sends no more lines of a batch until `resumeBatch`; lines in flight continue. */
  yieldBatch(batchId: string): void {
    const batch = this.batch(batchId);
    if (!batch || batch.state === 'stopping') return;
    moveBatch(batch, 'yield');
    for (const claimed of this.chunks.ofBatch(batchId)) this.yieldChunk(claimed);
  }

  resumeBatch(batchId: string): void {
    const batch = this.batch(batchId);
    if (batch) moveBatch(batch, 'resume');
  }

  /** Applies a changed place of a batch in the queue of its org. */
  reorderBatch(batchId: string, due: number): void {
    const batch = this.batch(batchId);
    if (batch) batch.due = due;
  }

  /** Sends no more lines of a chunk, and releases it when its lines in flight have ended. */
  yieldChunk(claimed: ClaimedChunk): void {
    this.#endSending(claimed, 'yield');
  }

  /** Yields all chunks whose lease is not in `leases`: other processes have taken them. Lines in flight still count if they end first. */
  keepOnly(leases: readonly Lease[]): void {
    const left = new Set(leases.map(leaseKey));
    for (const claimed of this.chunks.all)
      if (!left.has(leaseKey(leaseOf(claimed.chunk)))) this.yieldChunk(claimed);
  }

  /** Aborts a batch's calls and drops its chunks at once. */
  dropBatch(batchId: string, reason: Error): void {
    const batch = this.batch(batchId);
    if (!batch) return;
    moveBatch(batch, 'stop');
    batch.abort.abort(reason);
    for (const claimed of this.chunks.ofBatch(batchId)) this.#endSending(claimed, 'drop');
  }

  dropAll(reason: Error): void {
    for (const batch of this.batches()) this.dropBatch(batch.id, reason);
  }

  #queue(claimed: ClaimedChunk, how: 'push' | 'unshift', lines: readonly ClaimedLine[]): void {
    for (const line of lines) this.chunks.moveLine(line, 'retry');
    claimed.queue[how](...lines);
  }

  #moveAndSettle(line: ClaimedLine, event: LineEvent): void {
    this.chunks.moveLine(line, event);
    this.#settle(line.claimed);
  }

  /** Sends no more lines of a chunk: the next owner gets those that are not in flight. */
  #endSending(claimed: ClaimedChunk, event: ChunkEvent): void {
    if (!this.chunks.moveChunk(claimed, event)) return;
    claimed.queue = [];
    for (const line of claimed.lines)
      if (after(lineMachine, line.state, 'withdraw') && !isInFlight(line.state))
        this.chunks.moveLine(line, 'withdraw');
    this.#settle(claimed);
  }

  /** Moves a chunk to the state that follows from those of its lines. */
  #settle(claimed: ClaimedChunk): void {
    const event = followingEvent(claimed.count, claimed.lines.length);
    if (!event || !this.chunks.moveChunk(claimed, event)) return;
    if (claimed.state === 'finished') this.#effects.finish(claimed);
    if (claimed.state === 'released') this.#effects.release(leaseOf(claimed.chunk));
  }
}

function isCancellable({ state }: ClaimedLine): boolean {
  return after(lineMachine, state, 'cancel') !== undefined;
}

/** True if this process may send a line in flight again; otherwise the next owner of its chunk does. */
function canRetryHere({ state, claimed }: ClaimedLine): boolean {
  return state === 'sent' && claimed.state === 'open';
}

/** Returns false if the event cannot happen in the batch's state. */
function moveBatch(batch: RunningBatch, event: BatchEvent): boolean {
  const state = after(batchMachine, batch.state, event);
  if (state) batch.state = state;
  return state !== undefined;
}

function leaseKey({ batchId, seq, epoch }: Lease): string {
  return `${batchId}/${seq}/${epoch}`;
}
