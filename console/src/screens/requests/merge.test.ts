import { describe, expect, it } from 'vitest';
import { mergeRequests, needsAll, remembered } from './merge.ts';

const at = (n: number, process = 'wrk_a') => ({
  id: `req_${process}_${n}`,
  process,
  started_at: new Date(n).toISOString(),
});
const list = (...numbers: number[]) => numbers.map((n) => at(n));

describe('mergeRequests', () => {
  it('adds new requests before the known ones, each once', () => {
    const known = list(3, 2, 1);
    const merged = mergeRequests(known, list(5, 4, 3));
    expect(merged).toEqual(list(5, 4, 3, 2, 1));
    expect(merged[2]).toBe(known[0]);
  });

  it('orders the requests of several processes by time', () => {
    expect(mergeRequests(list(4, 2), [at(3, 'wrk_b'), at(1, 'wrk_b')])).toEqual([
      at(4),
      at(3, 'wrk_b'),
      at(2),
      at(1, 'wrk_b'),
    ]);
  });

  it('keeps as many as a process remembers', () => {
    const many = Array.from({ length: remembered }, (_, n) => at(n + 1)).toReversed();
    const merged = mergeRequests(many, [at(remembered + 1)]);
    expect([merged.length, merged[0], merged.at(-1)]).toEqual([remembered, at(remembered + 1), at(2)]);
  });
});

it('needs all requests again unless the newest ones reach the known ones', () => {
  expect(needsAll(list(2, 1), list(3, 2))).toBe(false);
  expect(needsAll(list(2, 1), list(5, 4))).toBe(true);
  expect(needsAll(list(2, 1), [at(2, 'wrk_b')])).toBe(true);
  expect(needsAll(list(2, 1), [])).toBe(false);
});
