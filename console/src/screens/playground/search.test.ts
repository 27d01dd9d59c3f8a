import { expect, it } from 'vitest';
import { playgroundSearch } from './search.ts';

it.each([
  [{}, {}],
  [
    { format: 'messages', model: 'tiny', code: 'python' },
    { format: 'messages', model: 'tiny', code: 'python' },
  ],
  [{ format: 'chat', code: 'curl' }, {}],
  [{ format: 'constructor', model: ['tiny'], code: 7, other: 'x' }, {}],
  [{ model: '' }, {}],
])('reads the address %j', (given, expected) => {
  expect(playgroundSearch(given)).toEqual(expected);
});
