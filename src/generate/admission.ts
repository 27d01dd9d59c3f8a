import type { Clock } from '../base/clock.ts';
import type { Pool } from '../engines/engines.ts';

/** How long after the last interactive call batches may use the slots kept free for the next one. */
const idleMs = 10_000;

/**
 * Counts what one model has in flight and says how many more batch lines it can take (batch-engine.md, "Running"):
 *
 *   room = interactive idle for 10 s ? most : min(most, max(1, floor(L x 7/8)) - I)
 *
 * L = slots, most = what keeps them busy, I = interactive calls here and elsewhere. P processes take 1/P each, but one line
 * at least while there is any room, minus their own lines in flight: few slots among many processes must not mean that
 * nobody runs anything.
 */
export class Admission {
  #pool: Pick<Pool, 'slots' | 'most'>;
  #clock: Clock;
  #interactive = 0;
  #lines = 0;
  #others = 0;
  #processes = 1;
  #lastInteractive = Number.NEGATIVE_INFINITY;
  #onIdle: (() => void)[] = [];

  constructor(pool: Pick<Pool, 'slots' | 'most'>, clock: Clock) {
    this.#pool = pool;
    this.#clock = clock;
  }

  /** Interactive calls of this process in flight. */
  get interactive(): number {
    return this.#interactive;
  }

  get room(): number {
    const here = this.#interactive + this.#others;
    if (here > 0) this.#lastInteractive = this.#clock.monotonic();
    const idle = here === 0 && this.#clock.monotonic() - this.#lastInteractive >= idleMs;
    const { slots, most } = this.#pool;
    const all = idle ? most : Math.min(most, Math.max(1, Math.floor((slots * 7) / 8)) - here);
    const share = Math.floor(all / this.#processes);
    return (all > 0 ? Math.max(1, share) : share) - this.#lines;
  }

  setOthers(interactive: number, processes: number): void {
    this.#others = interactive;
    this.#processes = Math.max(1, processes);
  }

  /** Counts a call in; the returned function counts it out, once. */
  enter(priority: 'interactive' | 'batch'): () => void {
    if (priority === 'interactive') this.#interactive++;
    else this.#lines++;
    let left = false;
    return () => {
      if (left) return;
      left = true;
      if (priority === 'batch') this.#lines--;
      else {
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
