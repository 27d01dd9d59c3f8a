import type { Range } from './search.ts';

export const dayMs = 86_400_000;

/** UTC day, such as `2026-11-28`. */
export function utcDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** First and last UTC day. */
export interface Days {
  start: string;
  end: string;
}

/** Days of a range that ends at `now`, epoch milliseconds. */
export function daysOf(range: Range, now: number): Days {
  const date = new Date(now);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  if (range === 'last-month')
    return { start: utcDay(Date.UTC(year, month - 1)), end: utcDay(Date.UTC(year, month, 0)) };
  if (range === 'month') return { start: utcDay(Date.UTC(year, month)), end: utcDay(now) };
  return { start: utcDay(now - (Number.parseInt(range, 10) - 1) * dayMs), end: utcDay(now) };
}

/** All days of a range, in order. */
export function eachDay({ start, end }: Days): string[] {
  const days: string[] = [];
  for (let at = Date.parse(start); at <= Date.parse(end); at += dayMs) days.push(utcDay(at));
  return days;
}

/** The seven whole days before today. */
export function lastWeek(now: number): Days {
  return { start: utcDay(now - 7 * dayMs), end: utcDay(now - dayMs) };
}
