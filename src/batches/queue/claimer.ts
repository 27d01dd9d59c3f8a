import { backoffMs } from '../../base/backoff.ts';
import type { Timer } from '../../base/clock.ts';
import type { Chunk } from '../../core/batch.ts';
import type { Catalog } from '../../core/model.ts';
import type { ClaimedBatch, Claim } from '../../store/contract/claim.ts';
import type { BatchContext } from '../batch-context.ts';
import type { ClaimDemand } from './claim-demand.ts';
import type { Fairness } from './fairness.ts';
import { type ClaimedChunk, leaseOf, type RunningBatch } from '../claimed/claimed-chunks.ts';
import { ChunkLines } from '../lines/chunk-lines.ts';
import { readAhead } from '../lines/read-ahead.ts';
import type { BatchBackoff } from '../claimed/batch-backoff.ts';
import { suspectKills, type PoisonSuspects } from '../claimed/poison-suspects.ts';
import type { LocalWork } from '../claimed/local-work.ts';

/** Polling is the contract; a wake-up only makes it sooner. Each poll that brings nothing makes the next one later. */
const polls = { initialMs: 250, maxMs: 1_000 };
/** Models that one claim fetches for: what comes for others in the database waits for it. */
const modelsAtOnce = 16;
/** A database that fails is asked again after a while, at most this long. */
const pauses = { initialMs: 1_000, maxMs: 5_000 };

export interface ClaimerDeps extends BatchContext {
  work: LocalWork;
  suspects: PoisonSuspects;
  demand: ClaimDemand;
  catalog: Catalog;
  fairness: Fairness;
  backoff: BatchBackoff;
  /** How many more batches may be closed now. */
  closings: () => number;
  close: (chunk: Chunk) => void;
  /** Chunks came into hand, or everything there is to claim was claimed. */
  dispatch: () => void;
  /** The batch as a whole cannot be run. */
  fail: (batchId: string, message: string) => Promise<void>;
}

/** Fetches work of all models at once (batch-engine.md, "Choosing and claiming"). One fetch at a time. */
export class Claimer {
  #deps: ClaimerDeps;
  #fetching: Promise<void> | null = null;
  #again = false;
  #poll: Timer | null = null;
  #pollMs = polls.initialMs;
  /** Runs while nothing may be asked, whoever wakes us. */
  #pause: Timer | null = null;
  #failures = 0;
  #stopped = true;

  constructor(deps: ClaimerDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#stopped = false;
    this.wake();
  }

  /** Claims nothing more; resolves when no claim is under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#poll?.cancel();
    this.#pause?.cancel();
    await this.#fetching;
  }

  /** There may be something new to claim. */
  wake(): void {
    this.#pollMs = polls.initialMs;
    this.#look();
  }

  #look(): void {
    this.#deps.demand.refresh();
    // The claim under way may not bring what there is now.
    this.#again = this.#fetching !== null;
    this.fetch();
  }

  /** Resolves when the claim that is under way now was answered and what it brought is in hand; later ones may be under way. */
  async settled(): Promise<void> {
    await this.#fetching;
  }

  /** More is wanted. While something is being claimed that waits: what is wanted then is asked for after it, by `dispatch`. */
  fetch(): void {
    if (this.#stopped || this.#pause || this.#fetching) return;
    this.#poll?.cancel();
    this.#fetching = this.#claimAll()
      .catch((error: unknown) => this.#failed(error))
      .finally(() => this.#fetched());
  }

  #failed(error: unknown): void {
    const { log, random } = this.#deps;
    const wait = backoffMs(++this.#failures, pauses, random.float());
    log.error({ err: error, wait_ms: wait }, 'work could not be claimed; trying again');
    this.#pauseFor(wait);
  }

  #pauseFor(ms: number): void {
    this.#pause = this.#deps.clock.after(ms, () => {
      this.#pause = null;
      this.wake();
    });
  }

  #fetched(): void {
    this.#fetching = null;
    const again = this.#again;
    this.#again = false;
    if (this.#stopped) return;
    if (again && !this.#pause) {
      this.fetch();
      return;
    }
    const { demand, clock, dispatch } = this.#deps;
    dispatch();
    if (this.#pause || this.#fetching) return;
    const hasRoom = demand.models().some((model) => demand.room(model) > 0);
    this.#poll = clock.after(hasRoom ? this.#pollMs : polls.maxMs, () => {
      this.#pollMs = Math.min(this.#pollMs * 2, polls.maxMs);
      this.#look();
    });
  }

  async #claimAll(): Promise<void> {
    const { holdsLeases, missing } = this.#deps;
    if (!holdsLeases()) return this.#pauseFor(polls.maxMs);
    await missing.refresh();
    this.#giveUp();
    await this.#claimClosings();
    let lacking = true;
    while (lacking && !this.#stopped && holdsLeases()) lacking = await this.#claimLines();
    this.#failures = 0;
  }

  /** What is in hand for a model that is not run here any more, or has another id now, or that takes nothing here, is for others. */
  #giveUp(): void {
    const { work, demand } = this.#deps;
    const models = new Set(demand.models());
    for (const claimed of work.chunks.all) if (demand.isForOthers(claimed, models)) work.yieldChunk(claimed);
  }

  async #claimClosings(): Promise<void> {
    const { store, worker, closings, backoff, clock, holdsLeases, close } = this.#deps;
    const most = closings();
    if (most <= 0) return;
    const askedAt = clock.monotonic();
    const { chunks, faults } = await store.batches.claimClosings(worker, most, backoff.waiting);
    this.#learn(chunks);
    await this.#setBack(faults, null);
    // Taken from us by now, or soon: the next heartbeat gives them back if not.
    if (holdsLeases(askedAt)) for (const chunk of chunks) close(chunk);
  }

  /** Whether there may be more to claim that is wanted. */
  async #claimLines(): Promise<boolean> {
    const { store, worker, demand, suspects, clock, time, holdsLeases } = this.#deps;
    const all = demand.wanted();
    const lacking = all.filter(({ lines, chunks: least }) => lines + least > 0);
    const wanted = all.filter((each) => !lacking.slice(modelsAtOnce).includes(each));
    if (wanted.length === 0) return false;
    const except = this.#passedOver();
    const options = { now: time.now(), suspects: suspects.room, except };
    const askedAt = clock.monotonic();
    const { chunks, batches, faults } = await store.batches.claim(worker, wanted, options);
    this.#learn(chunks);
    await this.#setBack(faults, 'A part of the batch cannot be read from the database any more.');
    if (!holdsLeases(askedAt)) return false;
    const came = new Set(chunks.map(({ model }) => model));
    if (faults.length === 0)
      for (const { model, names, lines, chunks: least } of wanted)
        if (lines + least > 0 && !names.some((name) => came.has(name))) demand.noteDry(model);
    await this.#hold(chunks, new Map(batches.map((batch) => [batch.id, batch])));
    const isOver = chunks.length + faults.length === 0 && lacking.length <= modelsAtOnce;
    return !isOver && demand.models().some((model) => demand.wants(model));
  }

  /** Where something came there may be more before long. */
  #learn({ length }: readonly Chunk[]): void {
    if (length > 0) this.#pollMs = polls.initialMs;
  }

  /** Batches that met a fault, and those whose last lines here are on their way. */
  #passedOver(): string[] {
    const { backoff, work } = this.#deps;
    const stopping = work.batches().filter((batch) => batch.stopping || batch.yielding);
    return [...new Set([...backoff.waiting, ...stopping.map(({ id }) => id)])];
  }

  /** @param fault what each is told when it ends for it, or null for what may pass */
  async #setBack(faults: Claim['faults'], fault: string | null): Promise<void> {
    const { isAway, backoff } = this.#deps;
    for (const { batchId, message } of faults) {
      const error = new Error(message);
      if (await isAway(error)) throw error;
      await backoff.add(batchId, error, fault);
    }
  }

  async #hold(chunks: readonly Chunk[], batches: ReadonlyMap<string, ClaimedBatch>): Promise<void> {
    const { store, blobs, worker, work, fairness, dispatch } = this.#deps;
    const back: Chunk[] = [];
    const suspects: Chunk[] = [];
    const claimed: ClaimedChunk[] = [];
    const before = [...work.chunks.all];
    for (const chunk of chunks) {
      const batch = this.#batchOf(batches.get(chunk.batchId)!);
      if (!batch || batch.stopping || batch.yielding) back.push(chunk);
      else if (chunk.kills >= suspectKills && chunk.lines.length > 1) suspects.push(chunk);
      else {
        const each = this.#toHeld(chunk, batch);
        claimed.push(each);
        // The next chunk may be of the same batch.
        work.chunks.add(each);
      }
    }
    fairness.setWorking(new Set(work.batches().map(({ orgId }) => orgId)));
    const upcoming = claimed.map(({ batch, lines, todo }) => ({ blob: batch.blob, lines, refs: todo }));
    await readAhead(blobs, upcoming, before);
    dispatch();
    if (back.length > 0) await store.batches.release(worker, back.map(leaseOf));
    for (const chunk of suspects) await store.batches.split(worker, leaseOf(chunk));
    for (const [id, { blobId }] of batches) if (blobId === null) await this.#endWithoutInput(id);
  }

  #toHeld(chunk: Chunk, batch: RunningBatch): ClaimedChunk {
    return {
      chunk,
      model: this.#deps.catalog.idOf(chunk.model),
      batch,
      lines: new ChunkLines(this.#deps.blobs, batch.blob),
      todo: [...chunk.lines],
      inFlight: 0,
      remaining: chunk.lines.length,
      parked: [],
      attempts: new Map(),
      suspect: chunk.kills >= suspectKills,
      yielding: false,
    };
  }

  /** The batch as it is in hand; undefined where its input is gone. */
  #batchOf({ blobId, ...claimed }: ClaimedBatch): RunningBatch | undefined {
    const { work } = this.#deps;
    const known = work.batch(claimed.id);
    // A window that was moved has moved it, too.
    if (known) {
      known.due = claimed.due;
      known.expiresAt = claimed.expiresAt;
    }
    if (known || blobId === null) return known;
    return { ...claimed, blob: blobId, abort: new AbortController(), stopping: false, yielding: false };
  }

  async #endWithoutInput(batchId: string): Promise<void> {
    const message = 'The input file is gone.';
    // First, so that nobody here runs it again where its end cannot be written.
    await this.#deps.backoff.add(batchId, new Error(message), null);
    await this.#deps.fail(batchId, message);
  }
}
