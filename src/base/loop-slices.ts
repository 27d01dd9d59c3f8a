import type { Clock } from './clock.ts';
import { RoundRobinQueue } from './round-robin-queue.ts';
import { systemClock } from './system.ts';

/** Shortest rest, in milliseconds: that of a timer. */
const minRestMs = 1;
/** Longest rest, so that background work ends even when the event loop is busy. */
const maxRestMs = 20;

/**
 * Turns of the event loop for long work in the background, cut into slices, so that requests which wait for it do not notice.
 *
 * - Each turn has one slice: owners in round robin, the callers of one owner in order.
 * - While an interactive request is in flight, a rest as long as the slice follows it, at least 1 ms. Such a request takes about ten
 *   turns, and a slice in each of them would delay it ten times.
 */
export class LoopSlices {
  readonly #clock: Pick<Clock, 'monotonic' | 'after'>;
  readonly #waiting = new RoundRobinQueue<() => void>();
  #isScheduled = false;
  #interactive = 0;

  constructor(clock: Pick<Clock, 'monotonic' | 'after'> = systemClock) {
    this.#clock = clock;
  }

  /** Resolves at the beginning of the turn. @param owner for whom the work is done, such as an org */
  next(owner = ''): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.add(owner, resolve);
      this.#schedule(0);
    });
  }

  /** Runs a generator to its end: its first step at once, every other one in a turn of its own. */
  async run<T>(owner: string, work: Generator<undefined, T>): Promise<T> {
    for (;;) {
      const { done, value } = work.next();
      if (done) return value;
      await this.next(owner);
    }
  }

  /** Marks an interactive request as in flight, until the returned function is called once. */
  enterInteractive(): () => void {
    this.#interactive++;
    return () => void this.#interactive--;
  }

  /** Calls `fn` after the rest that is due after `ms` of background work: at once while no interactive request is in flight. */
  afterRest(ms: number, fn: () => void): void {
    const rest = this.#restAfter(ms);
    if (rest === 0) fn();
    else this.#clock.after(rest, fn);
  }

  #restAfter(ms: number): number {
    return this.#interactive === 0 ? 0 : Math.min(maxRestMs, Math.max(minRestMs, ms));
  }

  #schedule(rest: number): void {
    if (this.#isScheduled || this.#waiting.size === 0) return;
    this.#isScheduled = true;
    if (rest === 0) this.#turn();
    else this.#clock.after(rest, () => this.#turn());
  }

  #turn(): void {
    let began = 0;
    setImmediate(() => {
      began = this.#clock.monotonic();
      const turn = this.#waiting.peek();
      if (!turn) return;
      this.#waiting.dequeue(...turn);
      turn[1]();
    });
    // Runs in the same turn, at the end of the slice.
    setImmediate(() => {
      this.#isScheduled = false;
      this.#schedule(this.#restAfter(this.#clock.monotonic() - began));
    });
  }
}

/** Turns of this process for blocking work of more than some tenths of a millisecond: there is one event loop. */
export const heavySlices = new LoopSlices();
