import { expect, it } from 'vitest';
import { limitNames } from '../../../src/core/limits.ts';
import { freedBy, limitState } from './limit-state.ts';

it('a limit has a word for how much of it is used', () => {
  const word = (used: number, limit: number) => limitState({ used, limit }).word;
  expect([word(0, 10), word(8, 10), word(9, 10), word(10, 10), word(12, 10), word(0, 0)]).toEqual([
    'Free',
    'Free',
    'Nearly used up',
    'Used up',
    'Used up',
    'Nothing allowed',
  ]);
});

it('time alone frees rates', () => {
  expect(limitNames.filter((name) => freedBy(name) === null)).toEqual([
    'requests_per_minute',
    'input_tokens_per_minute',
    'output_tokens_per_minute',
  ]);
});
