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

  learn(databaseNow: number): void {
    this.#offset = databaseNow - this.#clock.monotonic();
  }
}
