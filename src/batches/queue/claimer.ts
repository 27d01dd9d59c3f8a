import { backoffMs } from '../../base/backoff.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { Blobs } from '../../blobs/blobs.ts';
import { type Chunk, closeModel } from '../../core/batch.ts';
import type { Candidate, Store } from '../../store/store.ts';
import { choose } from './choose.ts';
import type { DbTime } from '../db-time.ts';
import type { MissingModels } from '../missing-models.ts';
import type { Demand } from './demand.ts';
import type { Fairness } from './fairness.ts';
import { type HeldChunk, leaseOf, type RunningBatch } from '../hand/held-chunks.ts';
import { ChunkLines } from '../lines/lines.ts';
import { suspectKills } from '../hand/poison.ts';
import type { Setbacks } from '../hand/setbacks.ts';
import type { Suspects } from '../hand/suspects.ts';
import type { WorkInHand } from '../hand/work-in-hand.ts';

const maxCandidates = 2_000;
/** Polling is the contract; a wake-up only makes it sooner. */
const busyPollMs = 250;
const idlePollMs = 1_000;
/** A database that fails is asked again after a while, at most this long. */
const pauses = { firstMs: 1_000, longestMs: 5_000 };

export interface ClaimerParts {
  store: Store;
  blobs: Blobs;
  work: WorkInHand;
  suspects: Suspects;
  demand: Demand;
  missing: Pick<MissingModels, 'look'>;
  fairness: Fairness;
  setbacks: Setbacks;
  worker: string;
  clock: Clock;
  time: DbTime;
  random: Random;
  log: Log;
  /** Whether what this process leases is its own: without a heartbeat it would be taken from it at once. */
  holdsLeases: () => boolean;
  /** Whether the database cannot be used at present, as opposed to refusing what it was asked. */
  isAway: (error: unknown) => Promise<boolean>;
  /** Whether another batch may be closed now. */
  canClose: () => boolean;
  close: (chunk: Chunk) => void;
  /** A chunk came into hand. */
  onHeld: (held: HeldChunk) => void;
  /** Everything there is to claim was claimed. */
  onIdle: () => void;
  /** The batch as a whole cannot be run. */
  fail: (batchId: string, message: string) => Promise<void>;
}

/** Fetches work: candidates, choice, claim (batch-engine.md, "Choosing and claiming"). One fetch at a time. */
export class Claimer {
  #parts: ClaimerParts;
  #fetching: Promise<void> | null = null;
  #again = false;
  /** Models of chunks that were claimed and cannot be run at present. */
  #refused = new Set<string>();
  #poll: Timer | null = null;
  /** Runs while nothing may be asked, whoever wakes us. */
  #pause: Timer | null = null;
  #failures = 0;
  #stopped = true;

  constructor(parts: ClaimerParts) {
    this.#parts = parts;
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
    this.#parts.demand.refresh();
    this.fetch();
  }

  /** Runs `fn` while no claim is under way, so that the leases in hand and the store's agree. */
  async exclusively(fn: () => Promise<void>): Promise<void> {
    while (this.#fetching) await this.#fetching;
    const run = fn();
    this.#fetching = run.catch(() => undefined).finally(() => this.#fetched());
    await run;
  }

  fetch(): void {
    if (this.#stopped || this.#pause) return;
    if (this.#fetching) {
      this.#again = true;
      return;
    }
    this.#poll?.cancel();
    this.#fetching = this.#claimAll()
      .catch((error: unknown) => this.#failed(error))
      .finally(() => this.#fetched());
  }

  #failed(error: unknown): void {
    const { log, random } = this.#parts;
    const wait = backoffMs(++this.#failures, pauses, random.float());
    log.error({ err: error, wait_ms: wait }, 'work could not be claimed; trying again');
    this.#pauseFor(wait);
  }

  #pauseFor(ms: number): void {
    this.#pause = this.#parts.clock.after(ms, () => {
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
    const { demand, clock, onIdle } = this.#parts;
    onIdle();
    if (this.#pause) return;
    const hasRoom = demand.models().some((model) => demand.room(model) > 0);
    this.#poll = clock.after(hasRoom ? busyPollMs : idlePollMs, () => this.wake());
  }

  async #claimAll(): Promise<void> {
    const { store, worker, demand, fairness, work, holdsLeases } = this.#parts;
    if (!holdsLeases()) return this.#pauseFor(idlePollMs);
    const yielded = work.takeYielded();
    if (yielded.length > 0) await store.batches.release(worker, yielded);
    await this.#parts.missing.look();
    const models = demand.models();
    const open = await store.batches.candidates([...models, closeModel], maxCandidates);
    let candidates = open.filter((each) => !this.#mustWait(each));
    fairness.setWorking(new Set([...candidates, ...work.batches()].map((each) => each.orgId)));
    for (const model of models) if (!candidates.some((each) => each.model === model)) demand.noteDry(model);
    const extra = this.#betterThanInHand(candidates);
    while (!this.#stopped && holdsLeases()) {
      const wanted = new Set(models.filter((model) => demand.wants(model) || extra.has(model)));
      if (this.#parts.canClose()) wanted.add(closeModel);
      const pick = choose(candidates, { wanted, served: (orgId) => fairness.served(orgId) });
      if (!pick) break;
      extra.delete(pick.model);
      const mayHaveMore =
        !this.#mustWait(pick) &&
        (await this.#claim(pick).catch((error: unknown) => this.#refuse(pick, error)));
      if (!mayHaveMore) candidates = candidates.filter((each) => each !== pick);
    }
    // What was given back is a candidate still: asking again before the next poll would only go round in circles.
    for (const model of this.#refused) demand.noteDry(model);
    this.#refused.clear();
    this.#failures = 0;
  }

  /** A batch that met a fault, or one whose last lines here are on their way. */
  #mustWait({ batchId, model }: Candidate): boolean {
    const { setbacks, work } = this.#parts;
    return setbacks.waits(batchId) || (model !== closeModel && work.batch(batchId)?.stopping === true);
  }

  /** One batch that cannot be claimed must not keep the others from it. */
  async #refuse({ batchId, model }: Candidate, error: unknown): Promise<boolean> {
    const { isAway, setbacks } = this.#parts;
    if (await isAway(error)) throw error;
    const fault = 'A part of the batch cannot be read from the database any more.';
    await setbacks.add(batchId, error, model === closeModel ? null : fault);
    return false;
  }

  /** Claims one chunk of a candidate; false when it has none left for us. */
  async #claim(pick: Candidate): Promise<boolean> {
    const { store, worker, time, suspects } = this.#parts;
    const isClosing = pick.model === closeModel;
    // Asked for beforehand: what is claimed and given back would be blamed for a death in between.
    const most = isClosing ? undefined : suspects.mostKills();
    const [chunk] = await store.batches.claim(worker, pick.batchId, pick.model, 1, time.now(), most);
    if (!chunk) {
      if (most !== undefined) this.#refused.add(pick.model);
      return false;
    }
    // Taken from us by now, or soon: the next heartbeat gives it back if not.
    if (!this.#parts.holdsLeases()) return false;
    if (isClosing) {
      this.#parts.close(chunk);
      return false;
    }
    const suspect = chunk.kills >= suspectKills;
    if (suspect && chunk.lines.length > 1) return store.batches.split(worker, leaseOf(chunk));
    const batch = await this.#batchOf(pick);
    if (!batch || batch.stopping) {
      await store.batches.release(worker, [leaseOf(chunk)]);
      this.#refused.add(pick.model);
      return false;
    }
    await this.#hold(chunk, batch, suspect);
    return true;
  }

  async #hold(chunk: Chunk, batch: RunningBatch, suspect: boolean): Promise<void> {
    const { work, blobs, onHeld } = this.#parts;
    const held: HeldChunk = {
      chunk,
      batch,
      lines: new ChunkLines(blobs, batch.blob),
      todo: [...chunk.lines],
      inFlight: 0,
      remaining: chunk.lines.length,
      parked: [],
      attempts: new Map(),
      suspect,
    };
    // It may have been forgotten again as idle while its input was looked up.
    work.addBatch(batch);
    work.held.add(held);
    // What cannot be read ahead is reported when its line is read.
    await held.lines.prefetch(chunk.lines).catch(() => undefined);
    onHeld(held);
  }

  /** What must be known of a batch to run its lines. A batch without its input ends as failed. */
  async #batchOf({ batchId }: Candidate): Promise<RunningBatch | undefined> {
    const { store, work, time } = this.#parts;
    const known = work.batch(batchId);
    if (known) return known;
    const batch = await store.batches.find(batchId);
    if (!batch || batch.closing !== null) return undefined;
    const input = await store.files.find(batch.inputFileId);
    if (!input) {
      await this.#parts.fail(batchId, 'The input file is gone.');
      return undefined;
    }
    const running: RunningBatch = {
      id: batch.id,
      orgId: batch.orgId,
      endpoint: batch.endpoint,
      due: batch.due,
      blob: input.blobId,
      abort: new AbortController(),
      stopping: batch.expiresAt <= time.now(),
      yielding: false,
    };
    if (!running.stopping) work.addBatch(running);
    return running;
  }

  /** Models for which a waiting batch should go before everything of its org in hand: one chunk more of each. */
  #betterThanInHand(candidates: readonly Candidate[]): Set<string> {
    const least = new Map<string, number>();
    for (const { chunk, batch, todo } of this.#parts.work.held.chunks) {
      if (todo.length === 0) continue;
      const key = `${chunk.model}/${batch.orgId}`;
      least.set(key, Math.min(least.get(key) ?? Number.POSITIVE_INFINITY, batch.due));
    }
    const better = candidates.filter(
      ({ model, orgId, due }) => due < (least.get(`${model}/${orgId}`) ?? due),
    );
    return new Set(better.map((candidate) => candidate.model));
  }
}
