import { expect, it } from 'vitest';
import { phasesOf } from './phases.ts';

it('divides the time of a request', () => {
  const parts = phasesOf({ ms: 100, queued_ms: 20, first_ms: 30 });
  expect(parts.map(({ name, ms }) => [name, ms])).toEqual([
    ['queued', 20],
    ['first', 30],
    ['rest', 50],
  ]);
  expect(phasesOf({ ms: 100, queued_ms: 0, first_ms: 101 }).map(({ name }) => name)).toEqual(['first']);
  expect(phasesOf({ ms: 3, queued_ms: null, first_ms: null })).toEqual([]);
});
