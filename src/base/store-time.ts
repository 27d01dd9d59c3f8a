import type { Clock, Timer } from './clock.ts';

/** Clocks that are kept right by the network move by less between two looks. */
const leastJumpMs = 5_000;

/**
 * The clock for all that is stored: the database's time, carried on by a clock that does not jump. Rows are written and
 * judged by many machines, whose wall clocks say what they like. Until the database was asked it is the wall clock.
 */
export class StoreTime implements Clock {
  #clock: Clock;
  #offset: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#offset = clock.now() - clock.monotonic();
  }

  now(): number {
    return Math.round(this.#clock.monotonic() + this.#offset);
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  arrival(): number {
    return this.#clock.arrival();
  }

  after(ms: number, fn: () => void): Timer {
    return this.#clock.after(ms, fn);
  }

  /**
   * How far the database's time is from what was expected of it, 0 for what drift and a slow answer explain. Parameters as
   * for `learn`.
   */
  jump(databaseNow: number, asked: number): number {
    const by = Math.round(this.#offsetBy(databaseNow, asked) - this.#offset);
    return Math.abs(by) < leastJumpMs ? 0 : by;
  }

  /**
   * The database said `databaseNow` to a question asked at `asked` on the monotonic clock. It may have said so at any time
   * since then, so a slow answer moves the time no further than it must.
   */
  synchronize(databaseNow: number, asked: number): void {
    this.#offset = this.#offsetBy(databaseNow, asked);
  }

  /** The possible one that is nearest to what is believed. */
  #offsetBy(databaseNow: number, asked: number): number {
    const least = databaseNow - this.#clock.monotonic();
    const most = databaseNow - asked;
    return Math.min(most, Math.max(least, this.#offset));
  }
}
