import type { Clock } from '../base/clock.ts';
import type { Pool } from '../engines/engines.ts';

/**
 * How long after the last interactive call batches may use the slots kept free for the next one, and for how long it is known at
 * least how many came at once.
 */
const idleMs = 10_000;

type AdmittedPool = Pick<Pool, 'slots' | 'most' | 'waiting'>;

/**
 * Counts what one model has in flight and says how many more batch lines it can take (batch-engine.md, "Running"):
 *
 *   room = interactive idle for 10 s ? most : min(most, max(1, L - F) - I)
 *
 * L = slots, most = what keeps them busy, I = interactive calls here and elsewhere. F are kept free for more of those: one more
 * than came at once lately finds a place, if that takes no more than an eighth of the slots; an eighth where other processes have
 * some, who tell of them seconds later. Processes that ask the same servers lease the room from one another. Where they cannot, P of them take 1/P each, but one line at least while there is any room: few slots
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
  #lastInteractive = Number.NEGATIVE_INFINITY;
  /** The most interactive calls at once: since then, and in the stretch of time before. */
  #atOnce = { since: Number.NEGATIVE_INFINITY, now: 0, before: 0 };
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
    const now = this.#clock.monotonic();
    if (here > 0) this.#lastInteractive = now;
    const { slots, most } = this.#pool;
    if (here === 0 && now - this.#lastInteractive >= idleMs) return most;
    const eighth = Math.ceil(slots / 8);
    const free = this.#processes > 1 ? eighth : Math.min(eighth, this.#mostAtOnce(now) + 1 - here);
    return Math.min(most, Math.max(1, slots - free) - here);
  }

  /** To be asked when a call has come and before one goes. */
  #mostAtOnce(now: number): number {
    const { since, now: most } = this.#atOnce;
    if (now - since >= idleMs)
      this.#atOnce = { since: now, now: 0, before: now - since < 2 * idleMs ? most : 0 };
    this.#atOnce.now = Math.max(this.#atOnce.now, this.#interactive);
    return Math.max(this.#atOnce.now, this.#atOnce.before);
  }

  get room(): number {
    return this.#share(this.limit) - this.#lines;
  }

  #share(all: number): number {
    if (this.#processes === 1 || all <= 0 || this.#pool.waiting) return all;
    return Math.min(all, this.#leased ?? Math.max(1, Math.floor(all / this.#processes)));
  }

  setOthers(interactive: number, processes: number): void {
    this.#others = interactive;
    this.#processes = Math.max(1, processes);
  }

  /** How many lines this process may have in flight among those that share; null where that is not known. */
  lease(lines: number | null): void {
    this.#leased = lines;
  }

  /** Counts a call in; the returned function counts it out, once. */
  enter(priority: 'interactive' | 'batch'): () => void {
    if (priority === 'batch') this.#lines++;
    else {
      this.#interactive++;
      this.#mostAtOnce(this.#clock.monotonic());
    }
    let left = false;
    return () => {
      if (left) return;
      left = true;
      if (priority === 'batch') this.#lines--;
      else {
        this.#lastInteractive = this.#clock.monotonic();
        this.#mostAtOnce(this.#lastInteractive);
        this.#interactive--;
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
