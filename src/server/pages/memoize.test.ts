import { expect, it } from 'vitest';
import { memoizeAsync } from './memoize.ts';

it('makes a value once, and again after a failure', async () => {
  const outcomes = [() => Promise.reject(new Error('EMFILE')), async () => ({})];
  const get = memoizeAsync<object>(() => outcomes.shift()!());
  await Promise.all([expect(get()).rejects.toThrow('EMFILE'), expect(get()).rejects.toThrow('EMFILE')]);
  const [first, second] = await Promise.all([get(), get()]);
  expect(second).toBe(first);
  expect(await get()).toBe(first);
});
