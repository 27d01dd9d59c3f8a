import { describe, expect, test } from 'vitest';
import { chooseThreads, threadCandidates } from './threads.ts';

test.each([
  [1, [1]],
  [2, [1]],
  [3, [1, 2]],
  [4, [1, 2, 3]],
  [8, [1, 2, 4, 7]],
  [17, [1, 2, 4, 8, 16]],
  [0.5, [1]],
])('with %d cores, %j are measured', (cores, candidates) => {
  expect(threadCandidates(cores)).toEqual(candidates);
});

describe('of the measured numbers', () => {
  const choose = async (speeds: Record<number, number>) => {
    const tried: number[] = [];
    const chosen = await chooseThreads(Object.keys(speeds).map(Number), async (threads) => {
      tried.push(threads);
      return speeds[threads]!;
    });
    return { chosen, tried };
  };

  test('the fastest is taken', async () => {
    expect((await choose({ 1: 10, 2: 19, 4: 35, 7: 30 })).chosen).toBe(4);
    expect((await choose({ 1: 10, 2: 9, 4: 30 })).chosen).toBe(4);
  });

  test('the fewest of those about as fast', async () => {
    expect((await choose({ 1: 10, 2: 10.4, 4: 10.2 })).chosen).toBe(1);
  });

  test('measuring stops at a clear slowdown', async () => {
    expect(await choose({ 1: 500, 2: 40, 4: 2, 7: 1 })).toEqual({ chosen: 1, tried: [1, 2] });
  });

  test('a single candidate is not measured', async () => {
    expect(await choose({ 1: 10 })).toEqual({ chosen: 1, tried: [] });
  });
});
