import { describe, expect, it } from 'vitest';
import { daysOf, eachDay, lastWeek } from './days.ts';
import { forecastOf } from './forecast.ts';
import { usageSearch } from './search.ts';
import { fromNano, sumGroups, toNano, toSeries, type UsageRow } from './sums.ts';

const now = Date.parse('2026-11-28T12:00:00Z');
const row = (model: string, day: string, amount: string, more: Partial<UsageRow> = {}): UsageRow => ({
  model,
  day,
  amount,
  requests: 1,
  input_tokens: 10,
  cached_tokens: 4,
  output_tokens: 5,
  ...more,
});

describe('days', () => {
  it.each([
    ['7d', '2026-11-22', '2026-11-28', 7],
    ['30d', '2026-10-30', '2026-11-28', 30],
    ['month', '2026-11-01', '2026-11-28', 28],
    ['last-month', '2026-10-01', '2026-10-31', 31],
  ] as const)('%s', (range, start, end, count) => {
    expect(daysOf(range, now)).toEqual({ start, end });
    expect(eachDay({ start, end })).toHaveLength(count);
  });

  it('from an address are in order, a year at most, and in place of a range', () => {
    const search = (from: unknown, to: unknown) => usageSearch({ from, to, range: '7d' });
    expect(search('2026-11-03', '2026-11-01')).toEqual({ from: '2026-11-01', to: '2026-11-03' });
    expect(search('2020-01-01', '2026-11-01')).toEqual({ from: '2025-10-31', to: '2026-11-01' });
    for (const wrong of [undefined, '', '2026-13-01', 20_261_101])
      expect(search(wrong, '2026-11-01')).toEqual({ range: '7d' });
  });

  it('the last week ends yesterday, and a month before January is December', () => {
    expect(lastWeek(now)).toEqual({ start: '2026-11-21', end: '2026-11-27' });
    expect(daysOf('last-month', Date.parse('2027-01-05T00:00:00Z'))).toEqual({
      start: '2026-12-01',
      end: '2026-12-31',
    });
  });
});

describe('sums', () => {
  it('are exact', () => {
    const [sum] = sumGroups([row('a', '2026-11-01', '0.1'), row('a', '2026-11-02', '0.2')], 'model');
    expect(fromNano(sum!.nano)).toBe('0.3');
    expect(['0', '12', '0.000000001', '8999999.999999999'].map((each) => fromNano(toNano(each)))).toEqual([
      '0',
      '12',
      '0.000000001',
      '8999999.999999999',
    ]);
  });

  it('put the most expensive group first, with a name', () => {
    const rows = [
      row('a', '2026-11-01', '1', { key_id: null }),
      row('a', '2026-11-01', '3', { key_id: 'key_1', key_name: 'ci' }),
      row('a', '2026-11-02', '2', { key_id: 'key_2', key_name: '' }),
    ];
    expect(sumGroups(rows, 'key').map(({ id, label }) => [id, label])).toEqual([
      ['key_1', 'ci'],
      ['key_2', 'key_2'],
      ['', 'Without a key'],
    ]);
  });
});

describe('toSeries', () => {
  const days = ['2026-11-01', '2026-11-02'];
  const rows = [
    row('a', '2026-11-01', '5'),
    row('b', '2026-11-02', '4'),
    row('c', '2026-11-01', '1'),
    row('d', '2026-11-01', '1'),
    row('a', '2026-10-31', '9'),
  ];

  it('has a value for each day, and adds the smaller groups up', () => {
    expect(toSeries(rows, { by: 'model', show: 'amount', days, limit: 3 })).toEqual([
      { id: 'a', label: 'a', values: [5, 0] },
      { id: 'b', label: 'b', values: [0, 4] },
      { id: 'others', label: '2 others', values: [2, 0] },
    ]);
    expect(toSeries(rows, { by: 'model', show: 'amount', days, limit: 4 })).toHaveLength(4);
  });

  it('counts tokens in and out', () => {
    const [first] = toSeries(rows.slice(0, 1), { by: 'model', show: 'tokens', days, limit: 3 });
    expect(first!.values).toEqual([15, 0]);
  });
});

describe('forecastOf', () => {
  const month = { amount: '100', spent: '50', period: 'month' } as const;

  it('adds the pace of the last week for the rest of the month', () => {
    // 2.5 days are left.
    expect(forecastOf(month, 7e9 * 10, now)).toEqual({ atEnd: '75', usedUpAt: null });
  });

  it('says when a budget will be used up', () => {
    const pace = 7e9 * 40;
    expect(forecastOf(month, pace, now).usedUpAt).toBe(now + 1.25 * 86_400_000);
    expect(forecastOf({ ...month, period: 'total' }, 7e9, now)).toEqual({
      atEnd: null,
      usedUpAt: now + 50 * 86_400_000,
    });
    expect(forecastOf({ ...month, spent: '100' }, 0, now).usedUpAt).toBe(now);
    expect(forecastOf(month, 0, now)).toEqual({ atEnd: '50', usedUpAt: null });
  });
});

it('usageSearch leaves out the defaults and what is unknown', () => {
  expect(usageSearch({ range: '30d', by: 'model', show: 'amount', org: '' })).toEqual({});
  expect(usageSearch({ range: '7d', by: 'key', show: 'nothing', org: 'org_1', x: 1 })).toEqual({
    range: '7d',
    by: 'key',
    org: 'org_1',
  });
});
