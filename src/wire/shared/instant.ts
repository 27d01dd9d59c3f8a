import { isoSeconds, unixSeconds } from '../../base/clock.ts';
import type { DateForm } from '../../core/batch.ts';

/** Formatters of epoch milliseconds. */
export const instantFormats: Record<DateForm, (ms: number) => string | number> = {
  iso: isoSeconds,
  unix: unixSeconds,
};

export const nullable =
  <T>(format: (ms: number) => T) =>
  (ms: number | null): T | null =>
    ms === null ? null : format(ms);

const iso = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})$/;
const seconds = /^\d{1,11}$/;

/** Epoch milliseconds of ISO 8601 with a zone (`2026-11-21T09:30:00Z`) or of Unix seconds; undefined if invalid. */
export function parseInstant(value: string | number): number | undefined {
  const text = `${value}`;
  if (seconds.test(text)) return Number(text) * 1000;
  const ms = iso.test(text) && isDay(text.slice(0, 10)) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

/** False for a day such as 2027-02-31, which `Date.parse` moves into the next month. */
function isDay(day: string): boolean {
  const ms = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(ms) && isoSeconds(ms).startsWith(day);
}
