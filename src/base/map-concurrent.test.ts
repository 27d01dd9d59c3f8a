import { expect, test } from 'vitest';
import { mapConcurrent } from './map-concurrent.ts';

const never = new AbortController().signal;

test('limits the concurrency and returns the results in order', async () => {
  let running = 0;
  let most = 0;
  const results = await mapConcurrent(2, [3, 1, 2, 0], never, async (item) => {
    most = Math.max(most, ++running);
    for (let i = 0; i < item; i++) await Promise.resolve();
    running--;
    return item * 10;
  });
  expect(results).toEqual([30, 10, 20, 0]);
  expect(most).toBe(2);
});

test('a failure aborts the other calls, starts no more, and is thrown when all have ended', async () => {
  const told: string[] = [];
  const work = async (item: string, signal: AbortSignal) => {
    told.push(`begin ${item}`);
    if (item === 'bad') throw new Error('bad');
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    told.push(`end ${item}`);
    signal.throwIfAborted();
  };
  await expect(mapConcurrent(2, ['good', 'bad', 'more'], never, work)).rejects.toThrow('bad');
  expect(told).toEqual(['begin good', 'begin bad', 'end good']);
});

test('starts nothing after an abort', async () => {
  const left = AbortSignal.abort(new Error('left'));
  const work = () => Promise.reject(new Error('begun'));
  await expect(mapConcurrent(2, [1], left, work)).rejects.toThrow('left');
  await expect(mapConcurrent(2, [], left, work)).rejects.toThrow('left');
});
