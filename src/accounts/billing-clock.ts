import { type Clock, dayMs, DerivedClock, hourMs } from '../base/clock.ts';
import type { Log } from '../base/log.ts';

/** Clocks are adjusted by less than this between two readings. */
const minJumpMs = 300_000;
/** A clock that jumped is trusted again after this long. */
const confirmMs = hourMs;
/** A machine has set its clock within this time of a first start. */
const settleMs = 60_000;
/** A start this long after the newest bill may be one with a wrong clock. */
const maxIdleMs = 7 * dayMs;

/**
 * Clock that dates bills and budgets. When the clock of stored instants jumps, bills keep the time from before the jump, carried on by
 * the monotonic clock, until the other clock has stayed for an hour: one that is soon set back never billed into another month.
 * Every jump is logged. A time that contradicts the newest bill is not kept, such as that of a machine that started with the year 1970.
 */
export class BillingClock extends DerivedClock {
  #log: Log;
  /** Offset of billing time to the monotonic clock; undefined until the first reading. */
  #offset: number | undefined;
  /** Monotonic time from which on the offset is worth keeping through a jump. */
  #trustedFrom = Number.POSITIVE_INFINITY;
  /** Offset of `clock` since its last jump, while it is not trusted. */
  #jump: { offset: number; at: number } | undefined;

  /** @param clock of stored instants (`StoreTime`) */
  constructor(clock: Clock, log: Log) {
    super(clock);
    this.#log = log;
  }

  now(): number {
    const now = this.source.now();
    const at = this.source.monotonic();
    const offset = now - at;
    if (this.#offset === undefined) return this.#adopt(now, at + settleMs);
    if (!isJump(this.#offset, offset)) {
      if (this.#jump) this.#report('info', 'the clock is back; no bill followed its jump');
      this.#jump = undefined;
      this.#offset = offset;
      return now;
    }
    if (at < this.#trustedFrom) {
      this.#report(
        'warn',
        'the clock jumped soon after the start; bills follow it, because no earlier bill confirmed the time before',
      );
      return this.#adopt(now, at + confirmMs);
    }
    if (!this.#jump || isJump(this.#jump.offset, offset)) {
      this.#jump = { offset, at };
      this.#report(
        'warn',
        'the clock jumped; bills keep the time from before until it has stayed for an hour',
      );
    }
    if (at - this.#jump.at < confirmMs) return Math.round(at + this.#offset);
    this.#report('warn', 'the clock has stayed for an hour since it jumped; bills follow it from now on');
    return this.#adopt(now, at);
  }

  /**
   * Compares the clock with the newest bill.
   * @param newest its hour, day or month, such as `2026-11-21T09`; null for an empty ledger
   */
  start(newest: string | null): void {
    const now = this.source.now();
    const at = this.source.monotonic();
    const billed = newest === null ? null : Date.parse(newest.length > 10 ? `${newest}:00Z` : newest);
    const fields = { clock: iso(now), newest_bill: newest };
    const isBehind = billed !== null && now < billed - hourMs;
    const isConfirmed = billed !== null && !isBehind && now - billed < maxIdleMs;
    if (isBehind)
      this.#log.error(
        fields,
        'the newest bill is later than the clock: the clock is behind, or it was ahead when that was billed; ' +
          'bills follow the clock, so set it and restart if it is wrong',
      );
    else if (billed !== null && !isConfirmed)
      this.#log.warn(
        fields,
        'the newest bill is more than a week old; bills follow the clock, so set it and restart if it is ahead',
      );
    const unsettledMs = isConfirmed ? 0 : billed === null ? settleMs : confirmMs;
    this.#adopt(now, at + unsettledMs);
  }

  /** False while the time may be wrong, so that nothing may be lost by it. */
  get isTrusted(): boolean {
    this.now();
    return this.monotonic() >= this.#trustedFrom;
  }

  #adopt(now: number, trustedFrom: number): number {
    this.#offset = now - this.source.monotonic();
    this.#trustedFrom = trustedFrom;
    this.#jump = undefined;
    return now;
  }

  #report(level: 'info' | 'warn', message: string): void {
    const [now, kept] = [this.source.now(), this.source.monotonic() + this.#offset!];
    this.#log[level]({ clock: iso(now), before: iso(kept), by_ms: Math.round(now - kept) }, message);
  }
}

function isJump(from: number, to: number): boolean {
  return Math.abs(to - from) >= minJumpMs;
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
