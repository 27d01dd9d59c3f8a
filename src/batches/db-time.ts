import type { Clock } from '../base/clock.ts';

/**
 * The database's time, carried on by a clock that does not jump (batch-engine.md, "Leases"): leases and windows of many
 * machines must agree, whatever their wall clocks say. Until the first heartbeat it is the wall clock.
 */
export class DbTime {
  #clock: Clock;
  #offset: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#offset = clock.now() - clock.monotonic();
  }

  now(): number {
    return Math.round(this.#clock.monotonic() + this.#offset);
  }

  /**
   * The database said `databaseNow` to a question asked at `asked` on the monotonic clock. It may have said so at any time
   * since then, so a slow answer moves the time no further than it must.
   */
  learn(databaseNow: number, asked: number): void {
    const least = databaseNow - this.#clock.monotonic();
    const most = databaseNow - asked;
    this.#offset = Math.min(most, Math.max(least, this.#offset));
  }
}
