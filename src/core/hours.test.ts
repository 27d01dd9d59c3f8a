import { describe, expect, it } from 'vitest';
import {
  timeAfterRunning,
  closedMsPerDay,
  type Hours,
  hoursAt,
  formatHours,
  parseHours,
  runningMs,
} from './hours.ts';

const hour = 3_600_000;
const hours = (text: string, share = 0): Hours => ({ ...parseHours(text)!, share });
const at = (iso: string) => Date.parse(iso);
const stretch = (each: Hours, iso: string) => {
  const { isOpen, since, until } = hoursAt(each, at(iso));
  const told = (instant: number) => new Date(instant).toISOString().slice(0, 16);
  return [isOpen, told(since), told(until)];
};

describe('hours', () => {
  it.each([
    ['22:00-06:00 Europe/Berlin', { from: 1320, to: 360, zone: 'Europe/Berlin' }],
    ['9:30-24:00', { from: 570, to: 0, zone: 'UTC' }],
    ['00:00-05:59  America/New_York', { from: 0, to: 359, zone: 'America/New_York' }],
  ])('are read from %s', (text, told) => expect(parseHours(text)).toEqual(told));

  it.each([
    '',
    '22-6',
    '24:00-06:00',
    '22:60-06:00',
    '22:00-25:00',
    '22:00-06:00 Berlin',
    '06:00-06:00',
    '22:00–06:00',
  ])('are not %j', (text) => expect(parseHours(text)).toBeUndefined());

  it('follow their time zone, across midnight', () => {
    const night = hours('22:00-06:00 Europe/Berlin');
    const winter = [true, '2026-01-10T21:00', '2026-01-11T05:00'];
    expect(stretch(night, '2026-01-10T20:59:59Z')).toEqual([false, '2026-01-10T05:00', '2026-01-10T21:00']);
    expect(stretch(night, '2026-01-10T21:00:00Z')).toEqual(winter);
    expect(stretch(night, '2026-01-11T04:59:59Z')).toEqual(winter);
    expect(stretch(night, '2026-01-11T05:00:00Z')).toEqual([false, '2026-01-11T05:00', '2026-01-11T21:00']);
    expect(stretch(night, '2026-07-10T20:00:00Z')).toEqual([true, '2026-07-10T20:00', '2026-07-11T04:00']);
    const day = [true, '2026-01-10T03:30', '2026-01-10T11:30'];
    expect(stretch(hours('09:00-17:00 Asia/Kolkata'), '2026-01-10T08:00:00Z')).toEqual(day);
    expect([formatHours(night), closedMsPerDay(night)]).toEqual(['22:00-06:00 Europe/Berlin', 16 * hour]);
  });

  it('are longer or shorter on a clock change', () => {
    const night = hours('22:00-06:00 Europe/Berlin');
    // On 2026-03-29 clocks go from 02:00 to 03:00, on 2026-10-25 from 03:00 to 02:00.
    expect(runningMs(night, at('2026-03-28T12:00:00Z'), at('2026-03-29T12:00:00Z'))).toBe(7 * hour);
    expect(runningMs(night, at('2026-10-24T12:00:00Z'), at('2026-10-25T12:00:00Z'))).toBe(9 * hour);
    expect(runningMs(night, at('2026-01-10T12:00:00Z'), at('2026-01-12T12:00:00Z'))).toBe(16 * hour);
  });

  it('begin and end once if a clock change repeats or skips their time', () => {
    const within = hours('02:15-02:45 Europe/Berlin');
    expect(stretch(within, '2026-03-29T01:20:00Z')).toEqual([true, '2026-03-29T01:15', '2026-03-29T01:45']);
    expect(stretch(within, '2026-10-25T00:20:00Z')).toEqual([true, '2026-10-25T00:15', '2026-10-25T00:45']);
    expect(stretch(within, '2026-10-25T01:20:00Z')).toEqual([false, '2026-10-25T00:45', '2026-10-26T01:15']);
    const skipped = hours('02:30-03:00 Europe/Berlin');
    expect(stretch(skipped, '2026-03-29T01:00:00Z')).toEqual([false, '2026-03-28T02:00', '2026-03-30T00:30']);
  });

  it.each(
    ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Pacific/Kiritimati'].flatMap((zone) =>
      ['22:00-06:00', '01:15-03:45', '02:30-04:00', '00:00-12:00'].map((text) => `${text} ${zone}`),
    ),
  )('of %s follow one another without a gap, whenever clocks are changed', (text) => {
    const each = hours(text);
    for (const start of ['2026-03-07T00:00:00Z', '2026-03-28T00:00:00Z', '2026-10-03T00:00:00Z']) {
      let now = hoursAt(each, at(start));
      let open = 0;
      for (let n = 0; n < 8; n++) {
        expect(hoursAt(each, now.until - 1)).toEqual(now);
        const next = hoursAt(each, now.until);
        expect([next.since, next.isOpen]).toEqual([now.until, !now.isOpen]);
        expect(next.until).toBeGreaterThan(next.since);
        open += next.isOpen ? next.until - next.since : 0;
        now = next;
      }
      expect(Math.abs(open - 4 * (24 * hour - closedMsPerDay(each)))).toBeLessThanOrEqual(hour);
    }
  });

  it('give the time after a span of running', () => {
    const [night, noon] = [hours('22:00-06:00'), at('2026-01-10T12:00:00Z')];
    expect(timeAfterRunning(night, noon, 0)).toBe(noon);
    expect(timeAfterRunning(night, noon, hour)).toBe(noon + 11 * hour);
    expect(timeAfterRunning(night, noon, 9 * hour)).toBe(noon + (10 + 24 + 1) * hour);
    expect(timeAfterRunning(undefined, noon, hour)).toBe(noon + hour);
    expect(timeAfterRunning(night, noon, 10_000 * hour)).toBeGreaterThan(noon + 10_000 * hour);
    const slower = hours('22:00-06:00', 0.25);
    expect(timeAfterRunning(slower, noon, hour)).toBe(noon + 4 * hour);
    expect(timeAfterRunning(slower, noon, 3.5 * hour)).toBe(noon + 11 * hour);
    expect(runningMs(slower, noon, noon + 11 * hour)).toBe(3.5 * hour);
    expect(runningMs(undefined, noon, noon + hour)).toBe(hour);
  });
});
