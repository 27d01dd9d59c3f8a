import { formatDuration } from '../../../src/base/duration.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** Instant of the API, ISO 8601 or Unix seconds (`batch.dates`), in epoch milliseconds. */
export function toMs(instant: string | number): number {
  return typeof instant === 'number' ? instant * 1_000 : Date.parse(instant);
}

/**
 * Distance of an instant from now: `just now`, `5 min ago`, `in 3 h`, `2 d ago`; beyond 30 days its date.
 * @param atMs epoch milliseconds, as `nowMs`
 */
export function relativeTime(atMs: number, nowMs: number): string {
  const ms = atMs - nowMs;
  const size = Math.abs(ms);
  if (size < 10 * second) return 'just now';
  if (size > 30 * day) return dateOnly.format(atMs);
  const [unit, word] =
    size < minute ? [second, 's'] : size < hour ? [minute, 'min'] : size < 2 * day ? [hour, 'h'] : [day, 'd'];
  const units = `${Math.floor(size / unit)} ${word}`;
  return ms > 0 ? `in ${units}` : `${units} ago`;
}

const dateOnly = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
const exact = new Intl.DateTimeFormat(undefined, {
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZoneName: 'short',
});

const clock = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});

const dayAndClock = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});

/**
 * Time of the day in the zone of the reader, `09:30:07`, for lists of moments that follow each other closely; of another day than now
 * with its date, `Nov 28, 09:30`.
 */
export function clockTime(atMs: number, nowMs: number): string {
  const isToday = new Date(atMs).toDateString() === new Date(nowMs).toDateString();
  return (isToday ? clock : dayAndClock).format(atMs);
}

const instants = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

/** Message of the server with its instants, which are in UTC, in the zone of the reader. */
export function localTimes(message: string): string {
  return message.replaceAll(instants, (instant) => exactTime(Date.parse(instant)));
}

/** Exact instant in the zone of the reader. */
export function exactTime(atMs: number): string {
  return exact.format(atMs);
}

/** Length of a time: `45s`, `2m 05s`, `3h 20m`. A negative one has a minus sign. */
export function duration(ms: number): string {
  return ms < 0 ? `−${formatDuration(-ms)}` : formatDuration(ms);
}

/** Time that a request took: `340 ms`, `1.24 s`, `12.3 s`, from a minute on as `duration`. */
export function latency(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms >= 59_950) return duration(ms);
  return `${(ms / second).toFixed(ms < 9_995 ? 2 : 1)} s`;
}

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat('en-US', { notation: 'compact', maximumSignificantDigits: 3 });

/** Whole number with separators: `12,345`. */
export function count(value: number): string {
  return whole.format(value);
}

/** Number in three digits: `12.3K`, `1.5M`. */
export function compact(value: number): string {
  return Math.abs(value) < 10_000 ? whole.format(value) : short.format(value);
}

/** Number of things: `1 batch`, `2 batches`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** Share of a total: `42 %`, `0.3 %`. Never 100 % for less than all, nor 0 % for more than nothing. */
export function percent(part: number, total: number): string {
  if (total <= 0 || part <= 0) return '0 %';
  if (part >= total) return '100 %';
  const share = (100 * part) / total;
  return share < 1
    ? `${Math.max(0.1, Math.round(share * 10) / 10)} %`
    : `${Math.min(99, Math.round(share))} %`;
}

/**
 * US dollars with the digits that the amount needs: cents from one dollar on, otherwise three significant ones (`$0.0123`).
 * @param amount decimal text of the API
 */
export function money(amount: string | number): string {
  const value = Number(amount);
  if (value === 0) return '$0';
  const size = Math.abs(value);
  const places = size >= 1 ? 2 : Math.max(2, 2 - Math.floor(Math.log10(size)));
  const text = size.toLocaleString('en-US', {
    minimumFractionDigits: 2,
    maximumFractionDigits: Math.min(places, 12),
  });
  return `${value < 0 ? '−' : ''}$${text}`;
}
