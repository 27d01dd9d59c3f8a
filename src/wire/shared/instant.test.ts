import { expect, it } from 'vitest';
import { parseInstant } from './instant.ts';

it.each<[string | number, number | undefined]>([
  ['2026-11-21T09:30:00Z', Date.UTC(2026, 10, 21, 9, 30)],
  ['2026-11-21T09:30+02:00', Date.UTC(2026, 10, 21, 7, 30)],
  ['2028-02-29T00:00:00Z', Date.UTC(2028, 1, 29)],
  [1_700_000_000, 1_700_000_000_000],
  ['1700000000', 1_700_000_000_000],
  ['2027-02-29T00:00:00Z', undefined],
  ['2027-02-31T00:00:00Z', undefined],
  ['2027-13-01T00:00:00Z', undefined],
  ['2027-01-31', undefined],
  ['soon', undefined],
])('%s is %s', (text, ms) => {
  expect(parseInstant(text)).toBe(ms);
});
