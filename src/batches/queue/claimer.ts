import { backoffMs } from '../../base/backoff.ts';
import type { Timer } from '../../base/clock.ts';
import type { Chunk } from '../../core/batch.ts';
import { createRetryLog, type RetryLog } from '../../core/retry-log.ts';
import { isGroup } from '../../core/request-group.ts';
import type { ClaimedBatch, Claim } from '../../store/contract/claim.ts';
import type { BatchContext } from '../batch-context.ts';
import type { ClaimDemand } from './claim-demand.ts';
import type { Fairness } from './fairness.ts';
import { type ClaimedChunk, leaseOf, type RunningBatch, toClaimed } from '../claimed/claimed-chunks.ts';
import { fileInput, groupInput, type LineInput } from '../lines/line-input.ts';
import { type ChunkLines, readAhead } from '../lines/chunk-lines.ts';
import type { BatchBackoff } from '../claimed/batch-backoff.ts';
import { suspectKills, type PoisonSuspects } from '../claimed/poison-suspects.ts';
import type { LocalWork } from '../claimed/local-work.ts';

/** Polling guarantees progress; wake-ups only speed it up. Each empty poll doubles the pause until the next one. */
const polls = { initialMs: 250, maxMs: 1_000 };
/** Models per claim: claims of other processes wait for it in the database. */
const maxModels = 16;
const errorBackoff = { initialMs: 1_000, maxMs: 5_000 };
const messages = {
  failed: 'chunks could not be claimed; trying again',
  succeeded: 'chunks are claimed again',
};

export interface ClaimerDeps extends BatchContext {
  work: LocalWork;
  suspects: PoisonSuspects;
  demand: ClaimDemand;
  fairness: Fairness;
  backoff: BatchBackoff;
  /** False to claim nothing: the process runs only chunks that it leases at their creation. */
  claims: boolean;
  /** Number of further batches that may be closed now. */
  closings: () => number;
  close: (chunk: Chunk) => void;
  /** Called after each claim, and when there is nothing left to claim. */
  dispatch: () => void;
}

/** Claims chunks of all models, one claim at a time (batch-engine.md, "Choosing and claiming"). */
export class Claimer {
  #deps: ClaimerDeps;
  #fetching: Promise<void> | null = null;
  #again = false;
  #poll: Timer | null = null;
  #pollMs = polls.initialMs;
  /** Runs after an error, when not even a wake-up may claim. */
  #pause: Timer | null = null;
  #failures = 0;
  #failureLog: RetryLog;
  #stopped = true;

  constructor(deps: ClaimerDeps) {
    this.#deps = deps;
    this.#failureLog = createRetryLog(deps.log, messages);
  }

  start(): void {
    this.#stopped = false;
    this.wake();
  }

  /** Claims no more; resolves when the current claim has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#poll?.cancel();
    this.#pause?.cancel();
    await this.#fetching;
  }

  /** Claims soon: there may be new work. */
  wake(): void {
    this.#pollMs = polls.initialMs;
    this.#claimAgain();
  }

  #claimAgain(): void {
    this.#deps.demand.refresh();
    // The current claim may have missed the new work.
    this.#again = this.#fetching !== null;
    this.fetch();
  }

  /** Resolves when the chunks of the current claim are added; a later claim may run by then. */
  async settled(): Promise<void> {
    await this.#fetching;
  }

  /** Claims more, unless a claim is running: `dispatch` then asks again after it. */
  fetch(): void {
    if (this.#stopped || this.#pause || this.#fetching) return;
    this.#poll?.cancel();
    this.#fetching = this.#claimAll()
      .catch((error: unknown) => this.#failed(error))
      .finally(() => this.#fetched());
  }

  /** True if more lines of some model may be sent now. */
  get hasRoom(): boolean {
    const { demand } = this.#deps;
    return demand.models().some((model) => demand.room(model) > 0);
  }

  #failed(error: unknown): void {
    const wait = backoffMs(++this.#failures, errorBackoff, this.#deps.random.float());
    this.#failureLog.failed(error, { wait_ms: wait });
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
    if (again && !this.#pause) return this.fetch();
    const { clock, dispatch } = this.#deps;
    dispatch();
    if (this.#pause || this.#fetching) return;
    this.#poll = clock.after(this.hasRoom ? this.#pollMs : polls.maxMs, () => {
      this.#pollMs = Math.min(this.#pollMs * 2, polls.maxMs);
      this.#claimAgain();
    });
  }

  async #claimAll(): Promise<void> {
    const { holdsLeases, missing, claims, demand } = this.#deps;
    if (!holdsLeases()) return this.#pauseFor(polls.maxMs);
    await missing.refresh();
    this.#yieldForeign();
    // Otherwise the dispatcher would ask again at once.
    if (!claims) return demand.models().forEach((model) => demand.noteDry(model));
    await this.#claimClosings();
    let lacking = true;
    while (lacking && !this.#stopped && holdsLeases()) lacking = await this.#claimLines();
    this.#failures = 0;
    this.#failureLog.succeeded();
  }

  /** Yields chunks that should not run here: their models are gone, renamed, out of hours, unavailable here, or paused. */
  #yieldForeign(): void {
    const { work, demand } = this.#deps;
    const models = new Set(demand.models());
    for (const claimed of work.chunks.all)
      if (demand.shouldRelease(claimed, models)) work.yieldChunk(claimed);
  }

  async #claimClosings(): Promise<void> {
    const { store, worker, closings, backoff, clock, holdsLeases, close } = this.#deps;
    const max = closings();
    if (max <= 0) return;
    const startedAt = clock.monotonic();
    const { chunks, faults } = await store.batches.claimClosings(worker, max, backoff.waiting);
    this.#noteArrivals(chunks);
    await this.#backOff(faults, null);
    // Lost leases are given back by the next heartbeat.
    if (holdsLeases(startedAt)) for (const chunk of chunks) close(chunk);
  }

  /** Returns true if more chunks are wanted and may exist. */
  async #claimLines(): Promise<boolean> {
    const { store, worker, demand, suspects, budgets, clock, time, billingClock, holdsLeases } = this.#deps;
    const all = demand.wanted();
    const lacking = all.filter(({ lines, chunks: min }) => lines + min > 0);
    const wanted = all.filter((each) => !lacking.slice(maxModels).includes(each));
    if (wanted.length === 0) return false;
    const options = {
      now: time.now(),
      billedAt: billingClock.now(),
      suspects: suspects.room,
      except: this.#exceptions(),
      exhausted: budgets.exhausted(),
    };
    const startedAt = clock.monotonic();
    const { chunks, batches, faults } = await store.batches.claim(worker, wanted, options);
    this.#noteArrivals(chunks);
    await this.#backOff(faults, 'A part of the batch can no longer be read from the database.');
    if (!holdsLeases(startedAt)) return false;
    const arrived = new Set(chunks.map(({ model }) => model));
    if (faults.length === 0)
      for (const { model, names, lines, chunks: min } of wanted)
        if (lines + min > 0 && !names.some((name) => arrived.has(name))) demand.noteDry(model);
    await this.#add(chunks, new Map(batches.map((batch) => [batch.id, batch])));
    const isOver = chunks.length + faults.length === 0 && lacking.length <= maxModels;
    return !isOver && demand.models().some((model) => demand.wants(model));
  }

  /** Polls faster after a claim that found work. */
  #noteArrivals({ length }: readonly Chunk[]): void {
    if (length > 0) this.#pollMs = polls.initialMs;
  }

  /** Ids of the batches not to claim: in back-off, stopping or yielding. */
  #exceptions(): string[] {
    const { backoff, work } = this.#deps;
    const ending = work.batches().filter(({ state }) => state !== 'running');
    return [...new Set([...backoff.waiting, ...ending.map(({ id }) => id)])];
  }

  /** @param fault message with which each batch would fail; null for errors that may pass */
  async #backOff(faults: Claim['faults'], fault: string | null): Promise<void> {
    const { isDatabaseDown, backoff } = this.#deps;
    for (const { batchId, message } of faults) {
      const error = new Error(message);
      if (await isDatabaseDown(error)) throw error;
      await backoff.add(batchId, error, fault);
    }
  }

  /** Adds chunks that this process has leased at their creation. */
  adopt(batch: ClaimedBatch, chunks: readonly Chunk[]): ClaimedChunk[] {
    const running = this.#toRunning(batch);
    if (!running || this.#stopped) return [];
    running.isInteractive = true;
    const claimed = chunks.map((chunk) => this.#toClaimed(chunk, running));
    for (const each of claimed) this.#deps.work.chunks.add(each);
    return claimed;
  }

  async #add(chunks: readonly Chunk[], batches: ReadonlyMap<string, ClaimedBatch>): Promise<void> {
    const { store, worker, work, fairness, backoff, dispatch } = this.#deps;
    const back: Chunk[] = [];
    const suspects: Chunk[] = [];
    const claimed: ChunkLines[] = [];
    const before = [...work.chunks.all].map(({ input }) => input);
    for (const chunk of chunks) {
      const batch = this.#toRunning(batches.get(chunk.batchId)!);
      if (batch?.state !== 'running') back.push(chunk);
      else if (chunk.kills >= suspectKills && chunk.lines.length > 1) suspects.push(chunk);
      else {
        const each = this.#toClaimed(chunk, batch);
        claimed.push(each.input);
        // The next chunk may belong to the same batch.
        work.chunks.add(each);
      }
    }
    fairness.setWorking(work.chunks.all);
    await readAhead(claimed, before);
    dispatch();
    if (back.length > 0) await store.batches.release(worker, back.map(leaseOf));
    for (const chunk of suspects) await store.batches.split(worker, leaseOf(chunk));
    const message = 'The input file is gone.';
    for (const claimedBatch of batches.values())
      if (!this.#inputOf(claimedBatch)) await backoff.fail(claimedBatch.id, new Error(message), message);
  }

  #toClaimed(chunk: Chunk, batch: RunningBatch): ClaimedChunk {
    return toClaimed(chunk, this.#deps.catalog.idOf(chunk.model), batch, chunk.kills >= suspectKills);
  }

  /** Returns the running batch, updated or new; undefined if its input is gone. */
  #toRunning(claimed: ClaimedBatch): RunningBatch | undefined {
    const running = this.#deps.work.batch(claimed.id);
    // The window, the priority or the weight may have changed.
    if (running) {
      running.due = claimed.due;
      running.weight = claimed.weight;
      running.expiresAt = claimed.expiresAt;
    }
    const input = this.#inputOf(claimed);
    if (running || !input) return running;
    const { blobId: _, ...batch } = claimed;
    return {
      ...batch,
      priced: Object.keys(claimed.prices),
      input,
      state: 'running',
      abort: new AbortController(),
    };
  }

  /** Undefined if the input file is gone. */
  #inputOf({ id, blobId }: ClaimedBatch): LineInput | undefined {
    const { store, blobs } = this.#deps;
    if (isGroup(id)) return groupInput(store.requests, id);
    return blobId === null ? undefined : fileInput(blobs, blobId);
  }
}
