import type { Clock } from '../base/clock.ts';
import type { Pool } from '../engines/engines.ts';

/** Time after the last interactive call at which batches get the slots kept free for the next one. */
const idleMs = 10_000;
/** Share of the slots that is kept free for interactive calls that arrive together. */
const spareShare = 1 / 8;
/** Acceptable wait of such a call for a slot that a line gives back. */
const shortWaitMs = 10;
/** Share of the slots that batch lines get under any interactive load, at least one slot; 0 for none. */
export interface BatchFloor {
  usual: number;
  /** While a batch of the model is expected to miss its window. */
  atRisk: number;
}

export const defaultFloor: BatchFloor = { usual: 1 / 16, atRisk: 1 / 4 };

/** Weight of a new line in the mean line time is 1 / `meanOver`. */
const meanOver = 64;

type AdmittedPool = Pick<Pool, 'slots' | 'maxInFlight' | 'maxLines' | 'linesGiveWay' | 'waiting'>;

/**
 * Counts the requests of one model in flight, and computes the room for batch lines (batch-engine.md, "Running"):
 *
 *   room = interactive idle for 10 s ? max : min(max, max(F, max(1, floor(L - S)) - I))
 *   S = max(1, L x (1/8 - 10 ms / D))
 *   F = max(1, floor(L x floor))
 *
 * L = slots, max = requests that keep them busy, I = interactive calls of all processes, D = mean time of a line, S = slots kept
 * free: an eighth of L, less those that lines give back within 10 ms. F = slots of lines under any interactive load, so that no
 * window ends without them; more while a batch is at risk. Processes that share replicas lease the room from one
 * another. Where they cannot, P processes take 1/P each, but at least one line, so that few slots among many processes do not
 * stop everything. Unavailable models are probed by each process.
 */
export class Admission {
  #pool: AdmittedPool;
  #clock: Clock;
  #floor: BatchFloor;
  #isAtRisk = false;
  #interactive = 0;
  #lines = 0;
  #peersInteractive = 0;
  #processes = 1;
  #leased: number | null = null;
  /** Mean time of a line in milliseconds; long until enough lines show otherwise. */
  #lineMs = 60_000;
  #lastInteractive = Number.NEGATIVE_INFINITY;
  #onIdle: (() => void)[] = [];
  #onInteractive: () => void;

  /** @param onInteractive called when an interactive call comes after none were in flight */
  constructor(
    pool: AdmittedPool,
    clock: Clock,
    floor: BatchFloor = defaultFloor,
    onInteractive: () => void = () => {},
  ) {
    this.#pool = pool;
    this.#clock = clock;
    this.#floor = floor;
    this.#onInteractive = onInteractive;
  }

  /** Interactive calls of this process in flight. */
  get interactive(): number {
    return this.#interactive;
  }

  /** Number of lines that all processes together may have in flight. */
  get limit(): number {
    const interactive = this.#interactive + this.#peersInteractive;
    if (interactive > 0) this.#lastInteractive = this.#clock.monotonic();
    const { slots, maxInFlight: max, maxLines, linesGiveWay } = this.#pool;
    const isIdle =
      interactive === 0 && (linesGiveWay || this.#clock.monotonic() - this.#lastInteractive >= idleMs);
    if (isIdle && maxLines >= max) return max;
    const spare = Math.max(1, slots * (spareShare - shortWaitMs / this.#lineMs));
    const allowed = Math.max(1, Math.floor(slots - spare)) - interactive;
    return Math.min(max, Math.max(this.#floorOf(slots), Math.min(allowed, maxLines)));
  }

  #floorOf(slots: number): number {
    const share = this.#isAtRisk ? Math.max(this.#floor.usual, this.#floor.atRisk) : this.#floor.usual;
    return share > 0 ? Math.max(1, Math.floor(slots * share)) : Number.NEGATIVE_INFINITY;
  }

  /** Number of lines of this process that get a slot even while interactive calls wait for one. */
  get guaranteed(): number {
    return Math.max(0, Math.min(this.#floorOf(this.#pool.slots), this.#share(this.limit)));
  }

  /** Sets whether a batch of the model is expected to miss its window. */
  setAtRisk(isAtRisk: boolean): void {
    this.#isAtRisk = isAtRisk;
  }

  #share(limit: number): number {
    return this.#leased ?? Math.max(1, Math.floor(limit / this.#processes));
  }

  get room(): number {
    const { limit } = this;
    if (limit <= 0 || this.#pool.waiting) return limit - this.#lines;
    return Math.min(limit, this.#share(limit)) - this.#lines;
  }

  /** @param interactive calls of other processes in flight. @param processes that share the model, this one included */
  setPeers(interactive: number, processes: number): void {
    this.#peersInteractive = interactive;
    this.#processes = Math.max(1, processes);
  }

  /** Sets the number of lines that this process may have in flight; null if no share was agreed. */
  lease(lines: number | null): void {
    this.#leased = lines;
  }

  /** Counts a call in and returns a function that counts it out. Only answered lines count for the mean line time. */
  enter(priority: 'interactive' | 'batch'): (isAnswered?: boolean) => void {
    if (priority === 'batch') this.#lines++;
    else if (this.#interactive++ === 0) this.#onInteractive();
    const began = this.#clock.monotonic();
    let left = false;
    return (isAnswered = false) => {
      if (left) return;
      left = true;
      if (priority === 'batch') {
        this.#lines--;
        if (isAnswered) this.#lineMs += (this.#clock.monotonic() - began - this.#lineMs) / meanOver;
      } else {
        this.#interactive--;
        this.#lastInteractive = this.#clock.monotonic();
      }
      if (this.#isIdle) for (const resolve of this.#onIdle.splice(0)) resolve();
    };
  }

  /** Resolves when this process has no request in flight. */
  whenIdle(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isIdle) resolve();
      else this.#onIdle.push(resolve);
    });
  }

  get #isIdle(): boolean {
    return this.#interactive + this.#lines === 0;
  }
}
