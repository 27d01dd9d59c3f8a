import type { BatchEndpoint, Chunk, LineRef } from '../../core/batch.ts';
import type { Lease } from '../../store/contract/claim.ts';
import type { Attempts } from './attempts.ts';
import type { ChunkLines } from '../lines/lines.ts';

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
export interface HeldChunk {
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
  /** One line that was held by processes that died (`Suspects`). */
  suspect: boolean;
  /** Nothing more of it is sent: it goes back once what is in flight has landed. */
  yielding: boolean;
}

export const leaseOf = ({ batchId, seq, epoch }: Chunk): Lease => ({ batchId, seq, epoch });
const keyOf = ({ batchId, seq }: { batchId: string; seq: number }) => `${batchId}/${seq}`;

/** What this process holds: leases until they are recorded as finished, chunks while they have lines to run. */
export class HeldChunks {
  #chunks = new Map<string, HeldChunk>();
  #leases = new Map<string, Lease>();
  #suspects = new Map<string, HeldChunk>();
  #unsent = new Map<string, number>();
  #parked = new Map<string, number>();
  #inFlight = new Map<string, number>();

  /** Every lease held, closing chunks and unrecorded ones included. */
  get leases(): Lease[] {
    return [...this.#leases.values()];
  }

  get chunks(): IterableIterator<HeldChunk> {
    return this.#chunks.values();
  }

  /** Suspects whose end is not recorded: until then a death of this process counts against them, answered or not. */
  get suspects(): HeldChunk[] {
    return [...this.#suspects.values()];
  }

  ofBatch(batchId: string): HeldChunk[] {
    return [...this.#chunks.values()].filter((held) => held.batch.id === batchId);
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

  has(held: HeldChunk): boolean {
    return this.#chunks.get(keyOf(held.chunk)) === held;
  }

  lease(lease: Lease): void {
    this.#leases.set(keyOf(lease), lease);
  }

  holds(lease: Lease): boolean {
    return this.#leases.get(keyOf(lease))?.epoch === lease.epoch;
  }

  unlease(lease: Lease): void {
    const held = this.#leases.get(keyOf(lease));
    if (held?.epoch !== lease.epoch) return;
    this.#leases.delete(keyOf(lease));
    this.#suspects.delete(keyOf(lease));
  }

  add(held: HeldChunk): void {
    this.#chunks.set(keyOf(held.chunk), held);
    this.lease(leaseOf(held.chunk));
    if (held.suspect) this.#suspects.set(keyOf(held.chunk), held);
    this.#count(this.#unsent, held, held.todo.length);
  }

  /** Takes the next line of a chunk to send it. */
  take(held: HeldChunk): LineRef | undefined {
    const ref = held.todo.shift();
    if (!ref) return undefined;
    held.inFlight++;
    this.#count(this.#unsent, held, -1);
    this.#count(this.#inFlight, held, 1);
    return ref;
  }

  /** A line sent came back, with a result or without. */
  landed(held: HeldChunk): void {
    held.inFlight--;
    this.#count(this.#inFlight, held, -1);
  }

  /** A line that must be sent again. */
  putBack(held: HeldChunk, ref: LineRef): void {
    if (!this.has(held) || held.yielding) return;
    held.todo.unshift(ref);
    this.#count(this.#unsent, held, 1);
  }

  /** A line that must be sent again when its server takes any: others try whether it does. */
  park(held: HeldChunk, ref: LineRef): void {
    if (!this.has(held) || held.batch.stopping || held.yielding) return;
    held.parked.push(ref);
    this.#count(this.#unsent, held, 1);
    this.#count(this.#parked, held, 1);
  }

  /** Lets the parked lines of a model have their turns. Answers whether there were any. */
  unpark(model: string): boolean {
    if ((this.#parked.get(model) ?? 0) === 0) return false;
    this.#parked.delete(model);
    for (const held of this.#chunks.values()) {
      if (held.model !== model) continue;
      held.todo.push(...held.parked);
      held.parked = [];
    }
    return true;
  }

  /** Forgets a chunk's unsent lines. */
  clearTodo(held: HeldChunk): void {
    if (this.has(held)) {
      this.#count(this.#unsent, held, -held.todo.length - held.parked.length);
      this.#count(this.#parked, held, -held.parked.length);
    }
    held.todo = [];
    held.parked = [];
  }

  /** No line of it is left to run; its lease stays until the recording finishes it. */
  retire(held: HeldChunk): void {
    if (!this.has(held)) return;
    this.clearTodo(held);
    this.#chunks.delete(keyOf(held.chunk));
  }

  drop(held: HeldChunk): void {
    this.retire(held);
    this.unlease(leaseOf(held.chunk));
  }

  #count(counts: Map<string, number>, held: HeldChunk, by: number): void {
    counts.set(held.model, (counts.get(held.model) ?? 0) + by);
  }
}
