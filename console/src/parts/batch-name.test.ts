import { expect, it } from 'vitest';
import { batchName } from './batch-name.ts';

it.each([
  [{ name: 'reviews' }, 'reviews'],
  [{ description: 'of June', Title: ' Reviews ' }, 'Reviews'],
  [{ name: 7, job: 'nightly' }, 'nightly'],
  [{ name: '' }, undefined],
  [{ team: 'a' }, undefined],
  [null, undefined],
])('names a batch with the metadata %j', (metadata, name) => {
  expect(batchName({ metadata })).toBe(name);
});
