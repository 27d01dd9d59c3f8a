import { expect, it } from 'vitest';
import { retryAfterSeconds } from './retry-after.ts';

const now = Date.UTC(2026, 10, 21, 9, 30);

it.each([
  ['2', 2],
  ['0', 1],
  ['1.2', 2],
  ['60', 60],
  ['86400', 86_400],
  ['99999', 86_400],
  ['Sat, 21 Nov 2026 09:30:20 GMT', 20],
  ['Saturday, 21-Nov-26 09:30:20 GMT', 20],
  ['Sat, 21 Nov 2026 09:00:00 GMT', 1],
  ['Sat, 21 Nov 2030 09:00:00 GMT', 86_400],
  ['-5', undefined],
  ['soon', undefined],
  ['1e9', undefined],
  ['', undefined],
  [undefined, undefined],
])('F18: %j is %j', (value, seconds) => {
  expect(retryAfterSeconds(value, now)).toBe(seconds);
});
