import { type Clock, DerivedClock } from './clock.ts';

/** NTP adjusts clocks by less than this between two beats. */
const minJumpMs = 5_000;

/**
 * Clock for stored instants: the database's time, advanced by the monotonic clock, because wall clocks of the machines differ.
 * Equals the wall clock until the first `synchronize`.
 */
export class StoreTime extends DerivedClock {
  #offset: number;

  constructor(clock: Clock) {
    super(clock);
    this.#offset = clock.now() - clock.monotonic();
  }

  now(): number {
    return Math.round(this.source.monotonic() + this.#offset);
  }

  /** Jump of the database's clock in milliseconds; 0 for what drift and a slow answer explain. Parameters as for `synchronize`. */
  jump(databaseNow: number, requestedAt: number): number {
    const by = Math.round(this.#offsetBy(databaseNow, requestedAt) - this.#offset);
    return Math.abs(by) < minJumpMs ? 0 : by;
  }

  /**
   * Adopts the time `databaseNow`, requested at `requestedAt` on the monotonic clock. The database may have read it at any time since,
   * so a slow answer moves the clock by the minimum.
   */
  synchronize(databaseNow: number, requestedAt: number): void {
    this.#offset = this.#offsetBy(databaseNow, requestedAt);
  }

  /** Possible offset nearest to the current one. */
  #offsetBy(databaseNow: number, requestedAt: number): number {
    const min = databaseNow - this.source.monotonic();
    return Math.min(databaseNow - requestedAt, Math.max(min, this.#offset));
  }
}
