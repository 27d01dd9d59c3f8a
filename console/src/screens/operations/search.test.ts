import { expect, it } from 'vitest';
import { readSearch } from './search.ts';

it('reads the state of the screen, and ignores what is unknown', () => {
  expect(readSearch({ tab: 'audit', actor: 'key_1', target: '', webhook: 7, other: 'x' })).toEqual({
    tab: 'audit',
    actor: 'key_1',
  });
  expect(readSearch({ tab: 'nothing' })).toEqual({});
});
