import { expect, it } from 'vitest';
import { targetRow } from './use-row-keys.ts';

it.each([
  ['j', 0, 3, 1],
  ['ArrowDown', 2, 3, 2],
  ['k', 0, 3, 0],
  ['ArrowUp', 2, 3, 1],
  ['Home', 2, 3, 0],
  ['End', 0, 3, 2],
  ['j', 0, 0, undefined],
  ['x', 0, 3, undefined],
])('%s moves from row %d of %d...', (key, current, count, row) => {
  expect(targetRow(key, current, count)).toBe(row);
});
