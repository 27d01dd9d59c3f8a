import { Counts } from '../../base/counts.ts';
import { sum } from '../../base/sum.ts';
import type { BatchEndpoint, Chunk, LineRef } from '../../core/batch.ts';
import type { FrozenPrices } from '../../core/price.ts';
import type { ServiceTier } from '../../core/service-tier.ts';
import type { Lease } from '../../store/contract/claim.ts';
import { ChunkLines } from '../lines/chunk-lines.ts';
import type { LineInput } from '../lines/line-input.ts';
import { type Attempts, noAttempts } from './retry-policy.ts';
import {
  after,
  type BatchState,
  type ChunkEvent,
  chunkMachine,
  type ChunkState,
  countInFlight,
  isInFlight,
  type LineCounts,
  type LineEvent,
  lineMachine,
  type LineState,
  noLines,
} from './states.ts';

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
  /** True for single requests that run at once, alongside the lines of batches and before them. */
  isInteractive?: boolean;
  state: BatchState;
  /** Aborts the calls in flight. */
  abort: AbortController;
}

/** A leased chunk and its progress. */
export interface ClaimedChunk {
  /** As stored: `chunk.model` is the name that the batch froze. */
  chunk: Chunk;
  /** Id of the model that runs the chunk. */
  model: string;
  batch: RunningBatch;
  /** Text of the lines. */
  input: ChunkLines;
  state: ChunkState;
  lines: ClaimedLine[];
  /** Queued lines, in the order in which they are sent. */
  queue: ClaimedLine[];
  /** Number of lines in each state. */
  count: LineCounts;
  /** True for a single line whose owners died (`PoisonSuspects`). */
  suspect: boolean;
}

export interface ClaimedLine {
  ref: LineRef;
  claimed: ClaimedChunk;
  state: LineState;
  /** Its failures in this process. */
  attempts: Attempts;
  /** Call in flight of a single request, which can be aborted alone. */
  call: AbortController | null;
}

/** Returns a leased chunk with all lines queued. @param model id of the model that runs it */
export function toClaimed(chunk: Chunk, model: string, batch: RunningBatch, suspect: boolean): ClaimedChunk {
  const claimed: ClaimedChunk = {
    chunk,
    model,
    batch,
    input: new ChunkLines(batch.input, chunk.lines),
    state: 'open',
    lines: [],
    queue: [],
    count: { ...noLines, queued: chunk.lines.length },
    suspect,
  };
  for (const ref of chunk.lines)
    claimed.lines.push({ ref, claimed, state: 'queued', attempts: noAttempts, call: null });
  claimed.queue.push(...claimed.lines);
  return claimed;
}

export const inFlightOf = ({ count }: ClaimedChunk) => countInFlight(count);
export const unsentOf = ({ count }: ClaimedChunk) => count.queued + count.parked;

export const leaseOf = ({ batchId, seq, epoch }: Chunk): Lease => ({ batchId, seq, epoch });
const keyOf = ({ batchId, seq }: { batchId: string; seq: number }) => `${batchId}/${seq}`;

/**
 * Chunks of this process while they have lines to run, and their leases until they are recorded as finished. Applies and counts
 * the state changes that `LocalWork` decides.
 */
export class ClaimedChunks {
  #chunks = new Map<string, ClaimedChunk>();
  #leases = new Map<string, Lease>();
  #suspects = new Map<string, ClaimedChunk>();
  /** Lines of batches by model; interactive requests take no room of theirs. */
  #unsent = new Counts();
  #inFlight = new Counts();
  /** Lines of batches and interactive requests, by model. */
  #parked = new Counts();

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

  /** Number of unsent lines of a model. A line that backs off does not count. */
  unsent(model: string): number {
    return this.#unsent.of(model);
  }

  unsentOf(batchId: string): number {
    return sum(this.ofBatch(batchId).map(unsentOf));
  }

  inFlight(model: string): number {
    return this.#inFlight.of(model);
  }

  /** Batches with lines in flight. */
  sending(): Set<string> {
    return new Set(
      [...this.#chunks.values()].filter((claimed) => inFlightOf(claimed) > 0).map(({ batch }) => batch.id),
    );
  }

  /** Number of lines in flight of all models for which `counts` returns true. */
  totalInFlight(counts: (model: string) => boolean = () => true): number {
    return sum([...this.#inFlight].map(([model, lines]) => (counts(model) ? lines : 0)));
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
    if (!claimed.batch.isInteractive) this.#unsent.add(claimed.model, claimed.lines.length);
  }

  /** True if some line of a model waits until the model takes requests. */
  hasParked(model: string): boolean {
    return this.#parked.of(model) > 0;
  }

  /** @throws Error if the event cannot happen in the line's state */
  moveLine(line: ClaimedLine, event: LineEvent): void {
    const state = after(lineMachine, line.state, event);
    if (!state) throw new Error(`'${event}' happened to a line that is ${line.state}.`);
    this.#count(line, -1);
    line.state = state;
    this.#count(line, 1);
  }

  /** Returns false if the event cannot happen in the chunk's state. */
  moveChunk(claimed: ClaimedChunk, event: ChunkEvent): boolean {
    const state = after(chunkMachine, claimed.state, event);
    if (!state) return false;
    claimed.state = state;
    if (state === 'yielding' || state === 'stopping') return true;
    if (this.#chunks.get(keyOf(claimed.chunk)) === claimed) this.#chunks.delete(keyOf(claimed.chunk));
    if (state !== 'finished') this.unlease(leaseOf(claimed.chunk));
    return true;
  }

  #count({ claimed, state }: ClaimedLine, by: 1 | -1): void {
    claimed.count[state] += by;
    if (state === 'parked') this.#parked.add(claimed.model, by);
    if (claimed.batch.isInteractive) return;
    if (state === 'queued' || state === 'parked') this.#unsent.add(claimed.model, by);
    if (isInFlight(state)) this.#inFlight.add(claimed.model, by);
  }
}
