const minuteMs = 60_000;
const dayMinutes = 1_440;
const dayMs = dayMinutes * minuteMs;

/** When batches of a model run, by the clocks of a place. */
export interface Hours {
  /** Minutes after midnight. Where `to` is not after `from` it is on the next day. */
  from: number;
  to: number;
  /** An IANA time zone. */
  zone: string;
  /** Which share of its places batches may have at other times, from 0 to 1. */
  share: number;
}

/** From one change to the next, in epoch milliseconds. */
interface HoursPeriod {
  isOpen: boolean;
  since: number;
  until: number;
}

/** `22:00-06:00 Europe/Berlin`; without a zone UTC. Undefined for anything else, and where both times are the same. */
export function parseHours(text: string): Omit<Hours, 'share'> | undefined {
  const match = /^(\d{1,2}):(\d{2})-(\d{1,2}):(\d{2})(?:\s+(\S+))?$/.exec(text.trim());
  if (!match) return undefined;
  const [hour = 0, minute = 0, toHour = 0, toMinute = 0] = match.slice(1, 5).map(Number);
  if (hour > 23 || minute > 59 || toMinute > 59 || toHour * 60 + toMinute > dayMinutes) return undefined;
  const zone = match[5] ?? 'UTC';
  const [from, to] = [hour * 60 + minute, (toHour * 60 + toMinute) % dayMinutes];
  return from === to || !isZone(zone) ? undefined : { from, to, zone };
}

/** `22:00-06:00 Europe/Berlin`. */
export function formatHours({ from, to, zone }: Hours): string {
  const time = (minutes: number) =>
    `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;
  return `${time(from)}-${time(to)} ${zone}`;
}

/** How many milliseconds of a day are closed, but on the days on which clocks are changed. */
export function closedMsPerDay({ from, to }: Hours): number {
  return ((from - to + dayMinutes) % dayMinutes) * minuteMs;
}

/** Whether they are open at an instant, in epoch milliseconds, and since and until when that is so. */
export function hoursAt(hours: Hours, at: number): HoursPeriod {
  const day = Math.floor(at / dayMs);
  let closed: HoursPeriod = { isOpen: false, since: at - dayMs, until: at + dayMs };
  // The clocks of a place are less than a day off, and hours that begin on one day end on the next.
  for (let near = day - 2; near <= day + 2; near++) {
    const { start, end } = openSpan(hours, near);
    if (start >= end) continue;
    if (start <= at && at < end) return { isOpen: true, since: start, until: end };
    if (end <= at) closed = { ...closed, since: Math.max(closed.since, end) };
    else closed = { ...closed, until: Math.min(closed.until, start) };
  }
  return closed;
}

/** Which share of their places batches may have at an instant, from 0 to 1. */
export function shareAt(hours: Hours | undefined, at: number): number {
  return !hours || hoursAt(hours, at).isOpen ? 1 : hours.share;
}

/** How many milliseconds of a span batches run; those in which they have a share of their places count as that share. */
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

/** When batches will have run for so long, in epoch milliseconds; a guess where that is months ahead. */
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

/** The hours that begin on a day, counted from 1970. They are none where clocks skip them. */
function openSpan(hours: Hours, day: number): Span {
  const known = spans.get(hours) ?? new Map<number, Span>();
  spans.set(hours, known);
  let span = known.get(day);
  if (!span) {
    const { zone, from, to } = hours;
    span = { start: toInstant(zone, day, from), end: toInstant(zone, to > from ? day : day + 1, to) };
    known.set(day, span);
  }
  return span;
}

/**
 * When the clocks of a zone show a time of a day: the first instant where they do twice; where they skip it, as long after
 * the change as it would have been.
 */
function toInstant(zone: string, day: number, minutes: number): number {
  const shown = day * dayMs + minutes * minuteMs;
  const before = utcOffsetMs(zone, shown - dayMs);
  const after = utcOffsetMs(zone, shown + dayMs);
  if (utcOffsetMs(zone, shown - before) === before) return shown - before;
  return utcOffsetMs(zone, shown - after) === after ? shown - after : shown - before;
}

function isZone(zone: string): boolean {
  try {
    zoneClock(zone);
    return true;
  } catch {
    return false;
  }
}

const clocks = new Map<string, Intl.DateTimeFormat>();

function zoneClock(zone: string): Intl.DateTimeFormat {
  const known = clocks.get(zone);
  if (known) return known;
  const clock = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' });
  clocks.set(zone, clock);
  return clock;
}

/** How far the clocks of a zone are ahead of UTC, in milliseconds. */
function utcOffsetMs(zone: string, at: number): number {
  const name = zoneClock(zone)
    .formatToParts(at)
    .find(({ type }) => type === 'timeZoneName')?.value;
  const [, sign = '+', hour = 0, minute = 0] = /([+-])(\d\d):(\d\d)/.exec(name ?? '') ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hour) * 60 + Number(minute)) * minuteMs;
}
