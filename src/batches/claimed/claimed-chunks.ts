import type { BatchEndpoint, Chunk, LineRef } from '../../core/batch.ts';
import type { Lease } from '../../store/contract/claim.ts';
import type { Attempts } from './retry-policy.ts';
import type { ChunkLines } from '../lines/chunk-lines.ts';

/** A batch this process runs lines of. */
export interface RunningBatch {
  id: string;
  orgId: string;
  endpoint: BatchEndpoint;
  due: number;
  expiresAt: number;
  /** Models whose prices it froze. */
  priced: readonly string[];
  /** Blob of its input file. */
  blob: string;
  /** Aborts its calls in flight. */
  abort: AbortController;
  /** Nothing of it is sent any more. */
  stopping: boolean;
  /** Nothing of it is sent for now: what is in hand of it goes back, and what comes. */
  yielding: boolean;
}

/** A leased chunk and how far it is. */
export interface ClaimedChunk {
  /** Under the name that its batch froze. */
  chunk: Chunk;
  /** The id of the model that runs it. */
  model: string;
  batch: RunningBatch;
  lines: ChunkLines;
  /** Not sent, in dispatch order. */
  todo: LineRef[];
  inFlight: number;
  /** Lines without a result so far; at zero the chunk is finished. */
  remaining: number;
  /** Lines whose server takes none at present, in the order in which that was found; after all others, they try again. */
  parked: LineRef[];
  /** What became of a line so far, where it failed. */
  attempts: Map<number, Attempts>;
  /** One line that was claimed by processes that died (`Suspects`). */
  suspect: boolean;
  /** Nothing more of it is sent: it goes back once what is in flight has landed. */
  yielding: boolean;
}

export const leaseOf = ({ batchId, seq, epoch }: Chunk): Lease => ({ batchId, seq, epoch });
const keyOf = ({ batchId, seq }: { batchId: string; seq: number }) => `${batchId}/${seq}`;

/** What this process holds: leases until they are recorded as finished, chunks while they have lines to run. */
export class ClaimedChunks {
  #chunks = new Map<string, ClaimedChunk>();
  #leases = new Map<string, Lease>();
  #suspects = new Map<string, ClaimedChunk>();
  #unsent = new Map<string, number>();
  #parked = new Map<string, number>();
  #inFlight = new Map<string, number>();

  /** Every lease claimed, closing chunks and unrecorded ones included. */
  get leases(): Lease[] {
    return [...this.#leases.values()];
  }

  get all(): IterableIterator<ClaimedChunk> {
    return this.#chunks.values();
  }

  /** Suspects whose end is not recorded: until then a death of this process counts against them, answered or not. */
  get suspects(): ClaimedChunk[] {
    return [...this.#suspects.values()];
  }

  ofBatch(batchId: string): ClaimedChunk[] {
    return [...this.#chunks.values()].filter((claimed) => claimed.batch.id === batchId);
  }

  /** Lines in hand that were not sent, of one model. */
  unsent(model: string): number {
    return this.#unsent.get(model) ?? 0;
  }

  /** Lines in hand that were not sent, of one batch. */
  unsentOf(batchId: string): number {
    return this.ofBatch(batchId).reduce((sum, { todo, parked }) => sum + todo.length + parked.length, 0);
  }

  inFlight(model: string): number {
    return this.#inFlight.get(model) ?? 0;
  }

  totalInFlight(): number {
    return [...this.#inFlight.values()].reduce((sum, n) => sum + n, 0);
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
    const claimed = this.#leases.get(keyOf(lease));
    if (claimed?.epoch !== lease.epoch) return;
    this.#leases.delete(keyOf(lease));
    this.#suspects.delete(keyOf(lease));
  }

  add(claimed: ClaimedChunk): void {
    this.#chunks.set(keyOf(claimed.chunk), claimed);
    this.lease(leaseOf(claimed.chunk));
    if (claimed.suspect) this.#suspects.set(keyOf(claimed.chunk), claimed);
    this.#count(this.#unsent, claimed, claimed.todo.length);
  }

  /** Takes the next line of a chunk to send it. */
  take(claimed: ClaimedChunk): LineRef | undefined {
    const ref = claimed.todo.shift();
    if (!ref) return undefined;
    claimed.inFlight++;
    this.#count(this.#unsent, claimed, -1);
    this.#count(this.#inFlight, claimed, 1);
    return ref;
  }

  /** A line sent came back, with a result or without. */
  landed(claimed: ClaimedChunk): void {
    claimed.inFlight--;
    this.#count(this.#inFlight, claimed, -1);
  }

  /** A line that must be sent again. */
  putBack(claimed: ClaimedChunk, ref: LineRef): void {
    if (!this.has(claimed) || claimed.yielding) return;
    claimed.todo.unshift(ref);
    this.#count(this.#unsent, claimed, 1);
  }

  /** A line that must be sent again when its server takes any: others try whether it does. */
  park(claimed: ClaimedChunk, ref: LineRef): void {
    if (!this.has(claimed) || claimed.batch.stopping || claimed.yielding) return;
    claimed.parked.push(ref);
    this.#count(this.#unsent, claimed, 1);
    this.#count(this.#parked, claimed, 1);
  }

  /** Lets the parked lines of a model have their turns. Answers whether there were any. */
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

  /** Forgets a chunk's unsent lines. */
  clearTodo(claimed: ClaimedChunk): void {
    if (this.has(claimed)) {
      this.#count(this.#unsent, claimed, -claimed.todo.length - claimed.parked.length);
      this.#count(this.#parked, claimed, -claimed.parked.length);
    }
    claimed.todo = [];
    claimed.parked = [];
  }

  /** No line of it is left to run; its lease stays until the recording finishes it. */
  retire(claimed: ClaimedChunk): void {
    if (!this.has(claimed)) return;
    this.clearTodo(claimed);
    this.#chunks.delete(keyOf(claimed.chunk));
  }

  drop(claimed: ClaimedChunk): void {
    this.retire(claimed);
    this.unlease(leaseOf(claimed.chunk));
  }

  #count(counts: Map<string, number>, claimed: ClaimedChunk, by: number): void {
    counts.set(claimed.model, (counts.get(claimed.model) ?? 0) + by);
  }
}
