import type { Clock, Timer } from './clock.ts';

/**
 * Measures how long this process stood still: its event loop was blocked, it was suspended, or it was short of CPU or memory. The
 * measure is the lateness of a timer, so a stall is known while its late timers run.
 */
export class StallClock {
  #clock: Clock;
  #tickMs: number;
  #timer: Timer | null = null;
  #due = Number.POSITIVE_INFINITY;
  #ms = 0;

  constructor(clock: Clock, tickMs = 1_000) {
    this.#clock = clock;
    this.#tickMs = tickMs;
  }

  start(): void {
    this.#due = this.#clock.monotonic() + this.#tickMs;
    this.#timer = this.#clock.after(this.#tickMs, () => {
      this.#ms += this.#lateness;
      this.start();
    });
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#due = Number.POSITIVE_INFINITY;
  }

  /** Milliseconds of standstill since the start. */
  get ms(): number {
    return this.#ms + this.#lateness;
  }

  get #lateness(): number {
    return Math.max(0, this.#clock.monotonic() - this.#due);
  }
}
