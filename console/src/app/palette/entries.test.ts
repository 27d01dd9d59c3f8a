import { expect, it } from 'vitest';
import { type Entry, matching, moved } from './entries.ts';

const entry = (label: string): Entry => ({ id: label, group: 'Screens', label, run: () => {} });
const entries = [entry('Batches'), entry('New batch'), entry('Sign out')];

it.each([
  ['', ['Batches', 'New batch', 'Sign out']],
  ['batch', ['Batches', 'New batch']],
  [' BATCH  new', ['New batch']],
  ['.*', []],
])('finds by %j', (text, labels) => {
  expect(matching(entries, text).map(({ label }) => label)).toEqual(labels);
});

it('moves around the ends', () => {
  expect(moved('ArrowDown', 2, 3)).toBe(0);
  expect(moved('ArrowUp', 0, 3)).toBe(2);
  expect(moved('ArrowDown', 0, 0)).toBeUndefined();
  expect(moved('x', 0, 3)).toBeUndefined();
});
