import { expect, it } from 'vitest';
import { linesSearch } from './search.ts';

it.each([
  [{}, {}],
  [
    { state: 'failed', code: 'upstream_error', q: 42, line: '17' },
    { state: 'failed', code: 'upstream_error', q: '42', line: 17 },
  ],
  [{ state: 'lost', q: ' ', line: 0, view: 'cards', other: 1 }, {}],
  [
    { sample: 20, seed: 0, q: 'dropped' },
    { sample: 20, seed: 0 },
  ],
  [{ sample: 201, seed: 5 }, {}],
  [{ view: 'table' }, { view: 'table' }],
])('reads %j as %j', (given, expected) => {
  expect(linesSearch(given)).toEqual(expected);
});
