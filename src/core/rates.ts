import type { Limits } from './limits.ts';

/** Rates per minute that single requests count against. */
export const rates = ['requests', 'inputTokens', 'outputTokens'] as const;
export type Rate = (typeof rates)[number];

export const rateFields = {
  requests: 'requestsPerMinute',
  inputTokens: 'inputTokensPerMinute',
  outputTokens: 'outputTokensPerMinute',
} as const satisfies Record<Rate, keyof Limits>;

/** State of one rate after a request was admitted or refused, for its response headers. */
export interface RateState {
  rate: Rate;
  limit: number;
  remaining: number;
  /** Time until the whole limit is available again. */
  resetMs: number;
}

/**
 * Use of one rate: GCRA as a leaky bucket. A request or token adds `unit`, and a limit of n per minute drains n every millisecond,
 * so that all numbers are integers and rounding admits none too many or too few. `at` is in milliseconds of any clock.
 */
export interface Meter {
  level: number;
  at: number;
}

/** Milliseconds per minute, and so the level of one request or token. */
export const unit = 60_000;

export const emptyMeter = (): Meter => ({ level: 0, at: Number.NEGATIVE_INFINITY });

/** Updates a meter to `now`, in milliseconds. A clock that goes back drains nothing. */
export function drain(meter: Meter, limit: number, now: number): void {
  const at = Math.floor(now);
  if (at <= meter.at) return;
  meter.level = meter.level === 0 ? 0 : Math.max(0, meter.level - limit * (at - meter.at));
  meter.at = at;
}

/** Adds use to a drained meter; a negative amount returns an unused reservation. */
export function fill(meter: Meter, amount: number): void {
  meter.level = Math.max(0, meter.level + amount * unit);
}

/** Whole amount that fits into a drained meter now. */
export function roomIn(meter: Meter, limit: number): number {
  return Math.max(0, Math.floor((limit * unit - meter.level) / unit));
}

/** Amount that fills a drained meter, rounded up. */
export function usedOf(meter: Meter): number {
  return Math.ceil(meter.level / unit);
}

/** Milliseconds until `amount`, which is at most the limit, fits into a drained meter. */
export function waitFor(meter: Meter, limit: number, amount: number): number {
  const excess = meter.level + amount * unit - limit * unit;
  return excess <= 0 ? 0 : Math.ceil(excess / limit);
}

/** Milliseconds until a drained meter is empty. */
export function resetOf(meter: Meter, limit: number): number {
  return limit === 0 ? unit : Math.ceil(meter.level / limit);
}
