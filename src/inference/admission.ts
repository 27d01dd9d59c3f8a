import type { Clock } from '../base/clock.ts';
import type { Pool } from '../engines/engines.ts';

/** How long after the last interactive call batches may use the slots kept free for the next one. */
const idleMs = 10_000;
/** The share of the slots that is there for interactive calls that come at once. */
const spareShare = 1 / 8;
/** How long one of those may wait for a slot that a line gives back. */
const shortWaitMs = 10;
/** One line in so many is how much the mean time of a line moves. */
const meanOver = 64;

type AdmittedPool = Pick<Pool, 'slots' | 'maxInFlight' | 'waiting'>;

/**
 * Counts what one model has in flight and says how many more batch lines it can take (batch-engine.md, "Running"):
 *
 *   room = interactive idle for 10 s ? most : min(most, max(1, floor(L - S)) - I)
 *   S = max(1, L x (1/8 - 10 ms / D))
 *
 * L = slots, most = what keeps them busy, I = interactive calls here and elsewhere, S = slots kept free for an eighth of L
 * that come at once: less those that lines, which take D each, give back within 10 ms. Processes that ask the same servers
 * lease it from one another. Where they cannot, P of them take 1/P each, but one line at least while there is any room: few slots
 * among many processes must not mean that nobody runs anything. Servers that take nothing are tried by each for itself.
 */
export class Admission {
  #pool: AdmittedPool;
  #clock: Clock;
  #interactive = 0;
  #lines = 0;
  #others = 0;
  #processes = 1;
  #leased: number | null = null;
  /** The mean time of a line, taken to be long until enough of them have shown that it is not. */
  #lineMs = 60_000;
  #lastInteractive = Number.NEGATIVE_INFINITY;
  #onIdle: (() => void)[] = [];

  constructor(pool: AdmittedPool, clock: Clock) {
    this.#pool = pool;
    this.#clock = clock;
  }

  /** Interactive calls of this process in flight. */
  get interactive(): number {
    return this.#interactive;
  }

  /** Lines that all processes together may have in flight. */
  get limit(): number {
    const here = this.#interactive + this.#others;
    if (here > 0) this.#lastInteractive = this.#clock.monotonic();
    const idle = here === 0 && this.#clock.monotonic() - this.#lastInteractive >= idleMs;
    const { slots, maxInFlight: most } = this.#pool;
    if (idle) return most;
    const spare = Math.max(1, slots * (spareShare - shortWaitMs / this.#lineMs));
    return Math.min(most, Math.max(1, Math.floor(slots - spare)) - here);
  }

  get room(): number {
    return this.#share(this.limit) - this.#lines;
  }

  #share(all: number): number {
    if (all <= 0 || this.#pool.waiting) return all;
    return Math.min(all, this.#leased ?? Math.max(1, Math.floor(all / this.#processes)));
  }

  setPeers(interactive: number, processes: number): void {
    this.#others = interactive;
    this.#processes = Math.max(1, processes);
  }

  /** How many lines this process may have in flight among those that share; null where that is not known. */
  lease(lines: number | null): void {
    this.#leased = lines;
  }

  /** Counts a call in; the returned function counts it out, once. What failed tells nothing of how long a line takes. */
  enter(priority: 'interactive' | 'batch'): (isAnswered?: boolean) => void {
    if (priority === 'interactive') this.#interactive++;
    else this.#lines++;
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

  /** Resolves when nothing of this process is in flight. */
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
