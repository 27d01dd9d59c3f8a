import { fromNano, toNano } from './sums.ts';

const dayMs = 86_400_000;

/** Budget of `GET /v1/usage`. */
export interface BudgetLike {
  amount: string;
  spent: string;
  period: 'month' | 'total';
}

export interface Forecast {
  /** USD at the end of the month; null for a budget in total, which has no end. */
  atEnd: string | null;
  /** Epoch milliseconds at which it will be used up; null if it will not this month, or nothing is spent. */
  usedUpAt: number | null;
}

/**
 * Forecast at the pace of the last seven whole days.
 * @param weekNano spending of these days
 * @param now epoch milliseconds
 */
export function forecastOf({ amount, spent, period }: BudgetLike, weekNano: number, now: number): Forecast {
  const perMs = weekNano / (7 * dayMs);
  const end = period === 'month' ? nextMonth(now) : Infinity;
  const left = toNano(amount) - toNano(spent);
  const usedUpAt = left <= 0 ? now : perMs > 0 ? now + left / perMs : Infinity;
  return {
    atEnd: end === Infinity ? null : fromNano(toNano(spent) + Math.round(perMs * (end - now))),
    usedUpAt: usedUpAt < end ? Math.round(usedUpAt) : null,
  };
}

/** Start of the next UTC month. */
export function nextMonth(now: number): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
}
