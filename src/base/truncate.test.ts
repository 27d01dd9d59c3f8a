import { expect, test } from 'vitest';
import { truncate } from './truncate.ts';

test.each([
  ['short', 10, 'short'],
  ['exactly', 7, 'exactly'],
  ['longer', 3, 'lon…'],
  ['a😀b', 1, 'a…'],
  // The pair starts inside the limit and ends outside it.
  ['a😀b', 2, 'a…'],
  ['a😀b', 3, 'a😀…'],
  ['😀😀', 1, '…'],
  ['any', 0, '…'],
])('cuts %j at %i units', (text, limit, cut) => {
  expect(truncate(text, limit, '…')).toBe(cut);
});

test('adds no mark by default', () => {
  expect(truncate('longer', 3)).toBe('lon');
});

test('never splits a surrogate pair', () => {
  const text = 'x😀é👩‍👩‍👧'.repeat(3);
  for (let limit = 0; limit <= text.length; limit++) expect(truncate(text, limit).isWellFormed()).toBe(true);
});
