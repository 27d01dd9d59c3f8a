const minuteMs = 60_000;
const dayMinutes = 1_440;
const dayMs = dayMinutes * minuteMs;

/** Daily hours in which batches of a model run, in a time zone. */
export interface Hours {
  /** Minutes after midnight; `to` is on the next day unless it is after `from`. */
  from: number;
  to: number;
  /** IANA time zone. */
  zone: string;
  /** Share of the slots that batches may use at other times, from 0 to 1. */
  share: number;
}

/** Time between two changes, in epoch milliseconds. */
interface HoursPeriod {
  isOpen: boolean;
  since: number;
  until: number;
}

/** Parses `22:00-06:00 Europe/Berlin`; UTC by default. Undefined for anything else or equal times. */
export function parseHours(text: string): Omit<Hours, 'share'> | undefined {
  const match = /^(\d{1,2}):(\d{2})-(\d{1,2}):(\d{2})(?:\s+(\S+))?$/.exec(text.trim());
  if (!match) return undefined;
  const [hour = 0, minute = 0, toHour = 0, toMinute = 0] = match.slice(1, 5).map(Number);
  if (hour > 23 || minute > 59 || toMinute > 59 || toHour * 60 + toMinute > dayMinutes) return undefined;
  const zone = match[5] ?? 'UTC';
  const [from, to] = [hour * 60 + minute, (toHour * 60 + toMinute) % dayMinutes];
  return from === to || !isZone(zone) ? undefined : { from, to, zone };
}

export function formatHours({ from, to, zone }: Hours): string {
  const time = (minutes: number) =>
    `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;
  return `${time(from)}-${time(to)} ${zone}`;
}

/** Closed milliseconds of a day without a clock change. */
export function closedMsPerDay({ from, to }: Hours): number {
  return ((from - to + dayMinutes) % dayMinutes) * minuteMs;
}

/** State at an instant, with the surrounding changes. */
export function hoursAt(hours: Hours, at: number): HoursPeriod {
  const day = Math.floor(at / dayMs);
  let closed: HoursPeriod = { isOpen: false, since: at - dayMs, until: at + dayMs };
  // Time zones are less than a day off UTC, and hours may end on the next day.
  for (let near = day - 2; near <= day + 2; near++) {
    const { start, end } = openSpan(hours, near);
    if (start >= end) continue;
    if (start <= at && at < end) return { isOpen: true, since: start, until: end };
    if (end <= at) closed = { ...closed, since: Math.max(closed.since, end) };
    else closed = { ...closed, until: Math.min(closed.until, start) };
  }
  return closed;
}

/** Share of the slots that batches may use at an instant, from 0 to 1. */
export function shareAt(hours: Hours | undefined, at: number): number {
  return !hours || hoursAt(hours, at).isOpen ? 1 : hours.share;
}

/** Milliseconds between two instants in which batches run, weighted by their share of the slots. */
export function runningMs(hours: Hours | undefined, start: number, end: number): number {
  if (!hours) return end - start;
  let sum = 0;
  for (let at = start; at < end;) {
    const { isOpen, until } = hoursAt(hours, at);
    const next = Math.min(until, end);
    sum += (next - at) * (isOpen ? 1 : hours.share);
    at = next;
  }
  return sum;
}

/** Instant at which batches will have run for `ms`; an estimate beyond some months. */
export function timeAfterRunning(hours: Hours | undefined, start: number, ms: number): number {
  if (!hours) return start + ms;
  let [at, left] = [start, ms];
  for (let changes = 0; changes < 100; changes++) {
    const { isOpen, until } = hoursAt(hours, at);
    const rate = isOpen ? 1 : hours.share;
    if ((until - at) * rate >= left) return at + (left === 0 ? 0 : left / rate);
    left -= (until - at) * rate;
    at = until;
  }
  return at + left;
}

interface Span {
  start: number;
  end: number;
}

const spans = new WeakMap<Hours, Map<number, Span>>();

/** Hours that begin on a day (counted from 1970); empty where a clock change skips them. */
function openSpan(hours: Hours, day: number): Span {
  const byDay = spans.get(hours) ?? new Map<number, Span>();
  spans.set(hours, byDay);
  let span = byDay.get(day);
  if (!span) {
    const { zone, from, to } = hours;
    span = { start: toInstant(zone, day, from), end: toInstant(zone, to > from ? day : day + 1, to) };
    byDay.set(day, span);
  }
  return span;
}

/** Instant of a local time: the first of two; a time skipped by a clock change is shifted by the change. */
function toInstant(zone: string, day: number, minutes: number): number {
  const shown = day * dayMs + minutes * minuteMs;
  const before = utcOffsetMs(zone, shown - dayMs);
  const after = utcOffsetMs(zone, shown + dayMs);
  if (utcOffsetMs(zone, shown - before) === before) return shown - before;
  return utcOffsetMs(zone, shown - after) === after ? shown - after : shown - before;
}

/** True for a time zone of the IANA database. */
export function isZone(zone: string): boolean {
  try {
    zoneClock(zone);
    return true;
  } catch {
    return false;
  }
}

const clocks = new Map<string, Intl.DateTimeFormat>();

function zoneClock(zone: string): Intl.DateTimeFormat {
  const cached = clocks.get(zone);
  if (cached) return cached;
  const clock = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' });
  clocks.set(zone, clock);
  return clock;
}

/** Offset of a zone from UTC, in milliseconds. */
function utcOffsetMs(zone: string, at: number): number {
  const name = zoneClock(zone)
    .formatToParts(at)
    .find(({ type }) => type === 'timeZoneName')?.value;
  const [, sign = '+', hour = 0, minute = 0] = /([+-])(\d\d):(\d\d)/.exec(name ?? '') ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hour) * 60 + Number(minute)) * minuteMs;
}
