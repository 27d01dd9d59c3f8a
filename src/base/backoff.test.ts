import { expect, it } from 'vitest';
import { backoffMs } from './backoff.ts';

const pauses = { initialMs: 1_000, maxMs: 30_000 };

it.each([
  [1, 0, 500],
  [1, 0.999, 1_000],
  [2, 0, 1_000],
  [3, 0.5, 3_000],
  [6, 0, 15_000],
  [50, 0.999, 29_985],
  [5_000, undefined, 30_000],
  [3, undefined, 4_000],
])('waits after attempt %d with %d for %d ms', (attempt, random, ms) => {
  expect(backoffMs(attempt, pauses, random)).toBe(ms);
});
