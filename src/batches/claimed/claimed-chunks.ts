import type { BatchEndpoint, Chunk, LineRef } from '../../core/batch.ts';
import type { FrozenPrices } from '../../core/price.ts';
import type { ServiceTier } from '../../core/service-tier.ts';
import type { Lease } from '../../store/contract/claim.ts';
import type { Attempts } from './retry-policy.ts';
import type { ChunkLines } from '../lines/chunk-lines.ts';
import type { LineInput } from '../lines/line-input.ts';

/** A batch that this process runs lines of. */
export interface RunningBatch {
  id: string;
  orgId: string;
  keyId: string;
  keyFamily: string | null;
  /** Weight of the org. */
  weight: number;
  endpoint: BatchEndpoint;
  due: number;
  expiresAt: number;
  /** Names of the models whose prices the batch froze. */
  priced: readonly string[];
  prices: Record<string, FrozenPrices>;
  priceFactor: number;
  /** Tier of a group of single requests; null for a batch. */
  tier: ServiceTier | null;
  input: LineInput;
  /** True for single requests that run at once, beside the lines of batches and before them. */
  isInteractive?: boolean;
  /** Single requests that were cancelled, and the calls of those in flight, by line. */
  cancelled: Set<number>;
  calls: Map<number, AbortController>;
  /** Aborts the calls in flight. */
  abort: AbortController;
  /** True once no more lines are sent. */
  stopping: boolean;
  /** True while no lines are sent: chunks already claimed, and those claimed meanwhile, are released. */
  yielding: boolean;
}

/** A leased chunk and its progress. */
export interface ClaimedChunk {
  /** As stored: `chunk.model` is the name that the batch froze. */
  chunk: Chunk;
  /** Id of the model that runs the chunk. */
  model: string;
  batch: RunningBatch;
  lines: ChunkLines;
  /** Unsent lines, in dispatch order. */
  todo: LineRef[];
  inFlight: number;
  /** Lines without a result; at zero the chunk is finished. */
  remaining: number;
  /** Lines that wait until the model takes requests again, in the order in which they were refused. */
  parked: LineRef[];
  /** Attempts by line number, of lines that failed. */
  attempts: Map<number, Attempts>;
  /** True for a single line whose owners died (`PoisonSuspects`). */
  suspect: boolean;
  /** True once no more lines are sent; the chunk is released when the lines in flight have ended. */
  yielding: boolean;
}

export const leaseOf = ({ batchId, seq, epoch }: Chunk): Lease => ({ batchId, seq, epoch });
const keyOf = ({ batchId, seq }: { batchId: string; seq: number }) => `${batchId}/${seq}`;

/** Chunks of this process while they have lines to run, and their leases until they are recorded as finished. */
export class ClaimedChunks {
  #chunks = new Map<string, ClaimedChunk>();
  #leases = new Map<string, Lease>();
  #suspects = new Map<string, ClaimedChunk>();
  #unsent = new Map<string, number>();
  #parked = new Map<string, number>();
  #inFlight = new Map<string, number>();

  /** All leases, including those of closing chunks and of unrecorded results. */
  get leases(): Lease[] {
    return [...this.#leases.values()];
  }

  get all(): IterableIterator<ClaimedChunk> {
    return this.#chunks.values();
  }

  /** Suspects whose result is not recorded: until then a death of this process counts against them. */
  get suspects(): ClaimedChunk[] {
    return [...this.#suspects.values()];
  }

  ofBatch(batchId: string): ClaimedChunk[] {
    return [...this.#chunks.values()].filter((claimed) => claimed.batch.id === batchId);
  }

  /** Number of unsent lines of a model. */
  unsent(model: string): number {
    return this.#unsent.get(model) ?? 0;
  }

  /** Number of unsent lines of a batch. */
  unsentOf(batchId: string): number {
    return this.ofBatch(batchId).reduce((sum, { todo, parked }) => sum + todo.length + parked.length, 0);
  }

  inFlight(model: string): number {
    return this.#inFlight.get(model) ?? 0;
  }

  /** Batches with lines in flight. */
  sending(): Set<string> {
    return new Set(
      [...this.#chunks.values()].filter(({ inFlight }) => inFlight > 0).map(({ batch }) => batch.id),
    );
  }

  /** Number of lines in flight of all models for which `counts` returns true. */
  totalInFlight(counts: (model: string) => boolean = () => true): number {
    return [...this.#inFlight].reduce((sum, [model, n]) => sum + (counts(model) ? n : 0), 0);
  }

  has(claimed: ClaimedChunk): boolean {
    return this.#chunks.get(keyOf(claimed.chunk)) === claimed;
  }

  lease(lease: Lease): void {
    this.#leases.set(keyOf(lease), lease);
  }

  holdsLease(lease: Lease): boolean {
    return this.#leases.get(keyOf(lease))?.epoch === lease.epoch;
  }

  unlease(lease: Lease): void {
    if (!this.holdsLease(lease)) return;
    this.#leases.delete(keyOf(lease));
    this.#suspects.delete(keyOf(lease));
  }

  add(claimed: ClaimedChunk): void {
    this.#chunks.set(keyOf(claimed.chunk), claimed);
    this.lease(leaseOf(claimed.chunk));
    if (claimed.suspect) this.#suspects.set(keyOf(claimed.chunk), claimed);
    this.#count(this.#unsent, claimed, claimed.todo.length);
  }

  /** Removes and returns the next line of a chunk, to send it. */
  take(claimed: ClaimedChunk): LineRef | undefined {
    const ref = claimed.todo.shift();
    if (!ref) return undefined;
    claimed.inFlight++;
    this.#count(this.#unsent, claimed, -1);
    this.#count(this.#inFlight, claimed, 1);
    return ref;
  }

  /** Counts out a line in flight, with or without a result. */
  landed(claimed: ClaimedChunk): void {
    claimed.inFlight--;
    this.#count(this.#inFlight, claimed, -1);
  }

  /** Puts a line back at the front, to be sent again. */
  putBack(claimed: ClaimedChunk, ref: LineRef): void {
    if (!this.has(claimed) || claimed.yielding) return;
    claimed.todo.unshift(ref);
    this.#count(this.#unsent, claimed, 1);
  }

  /** Sets a line aside until the model takes requests; meanwhile other lines probe it. */
  park(claimed: ClaimedChunk, ref: LineRef): void {
    if (!this.has(claimed) || claimed.batch.stopping || claimed.yielding) return;
    claimed.parked.push(ref);
    this.#count(this.#unsent, claimed, 1);
    this.#count(this.#parked, claimed, 1);
  }

  /** Queues the parked lines of a model at the end; false if there are none. */
  unpark(model: string): boolean {
    if ((this.#parked.get(model) ?? 0) === 0) return false;
    this.#parked.delete(model);
    for (const claimed of this.#chunks.values()) {
      if (claimed.model !== model) continue;
      claimed.todo.push(...claimed.parked);
      claimed.parked = [];
    }
    return true;
  }

  /** Drops the unsent lines of a chunk. */
  clearTodo(claimed: ClaimedChunk): void {
    if (this.has(claimed)) {
      this.#count(this.#unsent, claimed, -claimed.todo.length - claimed.parked.length);
      this.#count(this.#parked, claimed, -claimed.parked.length);
    }
    claimed.todo = [];
    claimed.parked = [];
  }

  /** Removes a chunk without lines to run; its lease stays until the result is recorded. */
  retire(claimed: ClaimedChunk): void {
    if (!this.has(claimed)) return;
    this.clearTodo(claimed);
    this.#chunks.delete(keyOf(claimed.chunk));
  }

  drop(claimed: ClaimedChunk): void {
    this.retire(claimed);
    this.unlease(leaseOf(claimed.chunk));
  }

  /** Interactive requests take no room of batches, but wait for their model as others do. */
  #count(counts: Map<string, number>, claimed: ClaimedChunk, by: number): void {
    if (claimed.batch.isInteractive === true && counts !== this.#parked) return;
    counts.set(claimed.model, (counts.get(claimed.model) ?? 0) + by);
  }
}
