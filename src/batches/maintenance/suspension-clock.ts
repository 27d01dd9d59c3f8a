import type { Clock, Timer } from '../../base/clock.ts';

const tickMs = 5_000;

/** Measures how long this process was suspended, or without CPU or memory, by the lateness of a timer. */
export class SuspensionClock {
  #clock: Clock;
  #timer: Timer | null = null;
  #due = Number.POSITIVE_INFINITY;
  #ms = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  start(): void {
    this.#due = this.#clock.monotonic() + tickMs;
    this.#timer = this.#clock.after(tickMs, () => {
      this.#ms += this.#lateness;
      this.start();
    });
  }

  stop(): void {
    this.#timer?.cancel();
  }

  /** Milliseconds of suspension since the start. */
  get ms(): number {
    return this.#ms + this.#lateness;
  }

  get #lateness(): number {
    return Math.max(0, this.#clock.monotonic() - this.#due);
  }
}
