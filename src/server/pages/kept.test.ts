import { expect, it } from 'vitest';
import { kept } from './kept.ts';

it('makes once what all get, and again after a failure', async () => {
  const outcomes = [() => Promise.reject(new Error('EMFILE')), async () => ({})];
  const get = kept<object>(() => outcomes.shift()!());
  await Promise.all([expect(get()).rejects.toThrow('EMFILE'), expect(get()).rejects.toThrow('EMFILE')]);
  const [first, second] = await Promise.all([get(), get()]);
  expect(second).toBe(first);
  expect(await get()).toBe(first);
});
