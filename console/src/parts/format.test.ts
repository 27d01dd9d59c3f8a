import { describe, expect, it } from 'vitest';
import * as format from './format.ts';

const now = Date.parse('2026-11-28T12:00:00Z');
const seconds = (n: number) => now + n * 1_000;

describe('relativeTime', () => {
  it.each([
    [0, 'just now'],
    [-9, 'just now'],
    [-45, '45 s ago'],
    [-60, '1 min ago'],
    [-3_599, '59 min ago'],
    [7_300, 'in 2 h'],
    [-172_800, '2 d ago'],
  ])('says %d seconds from now as %s', (offset, text) => {
    expect(format.relativeTime(seconds(offset), now)).toBe(text);
  });

  it('shows the date of what is long ago', () => {
    expect(format.relativeTime(seconds(-40 * 86_400), now)).toMatch(/2026/);
  });
});

it('shows the time of a moment of today, and the date of one of another day', () => {
  expect(format.clockTime(seconds(-1), now)).toMatch(/^\d\d:\d\d:59$/);
  expect(format.clockTime(seconds(-3 * 86_400), now)).toMatch(/25/);
});

it('shows the instants in a message in the zone of the reader', () => {
  const message = 'It is renewed at 2026-12-01T00:00:00Z, in 3 days.';
  expect(format.localTimes(message)).toBe(
    `It is renewed at ${format.exactTime(Date.parse('2026-12-01T00:00:00Z'))}, in 3 days.`,
  );
  expect(format.localTimes('in 2026-11, T00:00')).toBe('in 2026-11, T00:00');
});

it('reads both formats of dates', () => {
  expect(format.toMs('2026-11-28T12:00:00Z')).toBe(now);
  expect(format.toMs(now / 1_000)).toBe(now);
});

it('shows lengths of time with a sign', () => {
  expect([45_000, 3 * 3_600_000 + 20 * 60_000, -90_000].map(format.duration)).toEqual([
    '45s',
    '3h 20m',
    '−1m 30s',
  ]);
});

it('shows the time of a request in three digits', () => {
  expect([0.4, 340.2, 999.6, 9_994, 9_996, 59_940, 59_950, 125_000].map(format.latency)).toEqual([
    '0 ms',
    '340 ms',
    '1.00 s',
    '9.99 s',
    '10.0 s',
    '59.9 s',
    format.duration(59_950),
    '2m 05s',
  ]);
});

describe('money', () => {
  it.each([
    ['0', '$0'],
    ['1234.5', '$1,234.50'],
    ['1', '$1.00'],
    ['0.5', '$0.50'],
    ['0.0123', '$0.0123'],
    ['0.000012345', '$0.0000123'],
    ['-0.25', '−$0.25'],
  ])('shows %s as %s', (amount, text) => {
    expect(format.money(amount)).toBe(text);
  });
});

describe('numbers', () => {
  it('keeps four digits, and shortens longer ones', () => {
    expect([9_999, 12_345, 1_234_567].map(format.compact)).toEqual(['9,999', '12.3K', '1.23M']);
  });

  it('names one and many', () => {
    expect(format.counted(1, 'batch', 'batches')).toBe('1 batch');
    expect(format.counted(2_000, 'batch', 'batches')).toBe('2,000 batches');
  });

  it('shows 0 % and 100 % only where they are exact', () => {
    expect(
      [
        [0, 10],
        [1, 100_000],
        [1, 3],
        [99_999, 100_000],
        [7, 7],
        [0, 0],
      ].map(([part, total]) => format.percent(part!, total!)),
    ).toEqual(['0 %', '0.1 %', '33 %', '99 %', '100 %', '0 %']);
  });
});
