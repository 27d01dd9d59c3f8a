import type { Clock, Timer } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Generate } from '../../generate/generate.ts';
import type { Store, WorkerLoad } from '../../store/store.ts';
import type { StoreTime } from '../../base/store-time.ts';

const beatMs = 10_000;
const leastWaitMs = 1_000;
/** An owner silent for this long is dead: others take its work. */
export const leaseLifeMs = 30_000;
/** So long before that it drops its work itself: aborted calls take a moment to end. */
const marginMs = 5_000;
/** Two beats further apart than this, and one between them did not arrive. */
const missedMs = 15_000;

export interface HeartbeatParts {
  store: Store;
  generate: Pick<Generate, 'setOthers'>;
  /** What this process tells the others. */
  load: () => WorkerLoad;
  worker: string;
  clock: Clock;
  time: StoreTime;
  log: Log;
  /** Gives back what the store says is leased by this process and it does not hold. */
  giveBackStrays: () => Promise<void>;
  /** What the others alive told. */
  onOthers: (others: readonly WorkerLoad[]) => void;
  /** Chunks of dead owners were taken back. */
  onReaped: () => void;
  /** This process was silent too long: its leases are gone, or will be in a moment. */
  onLost: () => void;
  /** Moves the windows of open batches, where a jump of the database's clock must not end them; else null. */
  moveWindows: ((by: number) => Promise<void>) | null;
}

/**
 * The lease on everything this process holds (batch-engine.md, "Leases"). A beat learns the database's time and the
 * others' load; after it, what the store thinks we hold but we do not is given back, and chunks are taken back from the
 * dead. A timer of its own ends the lease: it waits for no call, so a database that hangs cannot prolong it.
 */
export class Heartbeat {
  #parts: HeartbeatParts;
  #timer: Timer | null = null;
  #lapse: Timer | null = null;
  /** When the last one that arrived was sent, and when the last one was. */
  #lastBeat = Number.NEGATIVE_INFINITY;
  /** The first beat after one that was missed. */
  #steadySince = Number.NEGATIVE_INFINITY;
  #begun = 0;
  #stopped = true;
  #beating: Promise<void> | null = null;
  #tidying: Promise<void> | null = null;

  constructor(parts: HeartbeatParts) {
    this.#parts = parts;
  }

  /** Whether what is leased by this process surely is its own. */
  get holds(): boolean {
    return this.#left() > 0;
  }

  /** The first beat must succeed: without it nothing may be claimed. */
  async start(): Promise<void> {
    this.#stopped = false;
    await this.#beat();
    await this.#tidying;
    this.#schedule();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#beating;
    await this.#tidying;
    this.#lapse?.cancel();
  }

  #left(): number {
    return this.#lastBeat + leaseLifeMs - marginMs - this.#parts.clock.monotonic();
  }

  #schedule(): void {
    if (this.#stopped) return;
    const { clock, log } = this.#parts;
    // From beat to beat, however long the last one took.
    const wait = Math.max(leastWaitMs, this.#begun + beatMs - clock.monotonic());
    this.#timer = clock.after(wait, () => {
      this.#beating = this.#beat()
        .catch((error: unknown) => log.error({ err: error }, 'the heartbeat failed'))
        .finally(() => this.#schedule());
    });
  }

  async #beat(): Promise<void> {
    const { store, generate, worker, clock, load, onOthers } = this.#parts;
    // A process that stood still may wake here first: this beat must not prolong what has run out.
    if (this.#lapse && !this.holds) this.#lose();
    const before = (this.#begun = clock.monotonic());
    const { now, others } = await store.workers.beat(worker, load());
    await this.#learn(now, before);
    this.#prolong(before);
    generate.setOthers(others);
    onOthers(others);
    // Not waited for: it waits for the claim under way, and one that hangs must not keep the next beat from being sent.
    this.#tidying ??= this.#tidy(now).finally(() => (this.#tidying = null));
  }

  async #learn(now: number, asked: number): Promise<void> {
    const { time, moveWindows } = this.#parts;
    const isFirst = this.#lastBeat === Number.NEGATIVE_INFINITY;
    const by = moveWindows && !isFirst ? time.jump(now, asked) : 0;
    // Time and windows move one after the other, in the order in which nothing is ever late that is not.
    if (by > 0) await moveWindows?.(by);
    time.learn(now, asked);
    if (by < 0) await moveWindows?.(by);
  }

  /** Counted from when the beat was sent: nobody knows when it was written. */
  #prolong(sent: number): void {
    const { clock } = this.#parts;
    const isFirst = this.#lastBeat === Number.NEGATIVE_INFINITY;
    if (!isFirst && sent - this.#lastBeat > missedMs) this.#steadySince = sent;
    this.#lastBeat = sent;
    this.#lapse?.cancel();
    this.#lapse = clock.after(Math.max(0, this.#left()), () => this.#lose());
  }

  #lose(): void {
    const { log, onLost } = this.#parts;
    this.#lapse?.cancel();
    this.#lapse = null;
    log.error(
      {},
      'no heartbeat arrived for 25 s: the lines in hand are left to whoever reaches the database',
    );
    onLost();
  }

  async #tidy(now: number): Promise<void> {
    const { store, log, giveBackStrays, onReaped } = this.#parts;
    try {
      await giveBackStrays();
      // Where the database was away for us it may have been so for all: the living have a life-time to say so.
      const isSteady = this.#lastBeat - this.#steadySince >= leaseLifeMs;
      if (isSteady && (await store.workers.reap(now - leaseLifeMs)) > 0) onReaped();
    } catch (error) {
      log.error({ err: error }, 'chunks of the dead could not be taken back; the next heartbeat tries again');
    }
  }
}
