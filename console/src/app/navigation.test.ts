import { expect, it } from 'vitest';
import { currentEntry, navigationFor } from './navigation.ts';

it.each([
  ['/', '/'],
  ['/batches', '/batches'],
  ['/batches/new', '/batches/new'],
  ['/batches/batch_1/lines', '/batches'],
  ['/batchesx', undefined],
])('marks one entry of the menu for the address %s', (path, entry) => {
  expect(currentEntry(navigationFor({ scopes: ['admin', 'batches'] }), path)?.to).toBe(entry);
});
