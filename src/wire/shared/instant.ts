import { isoSeconds, unixSeconds } from '../../base/clock.ts';
import type { DateForm } from '../../core/batch.ts';

/** An instant of a batch, in epoch milliseconds, as it is told. */
export const instantFormats: Record<DateForm, (ms: number) => string | number> = {
  iso: isoSeconds,
  unix: unixSeconds,
};

/** The same of one that may not have come. */
export const nullable =
  <T>(told: (ms: number) => T) =>
  (ms: number | null): T | null =>
    ms === null ? null : told(ms);

/** An instant as clients write it: ISO 8601 with a zone, `2026-11-21T09:30:00Z`, or whole seconds since the epoch. */
const iso = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})$/;
const seconds = /^\d{1,11}$/;

/** Epoch milliseconds, or undefined when the text is no instant. */
export function parseInstant(value: string | number): number | undefined {
  const text = `${value}`;
  if (seconds.test(text)) return Number(text) * 1000;
  const ms = iso.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
