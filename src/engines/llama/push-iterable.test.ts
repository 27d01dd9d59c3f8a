import { expect, test } from 'vitest';
import { pushIterable } from './push-iterable.ts';

const { signal } = new AbortController();

test('yields values put before and during reads, in order', async () => {
  let more: (item: number) => void = () => {};
  let end = (): void => {};
  const lists = pushIterable<number>(signal, async (_signal, put) => {
    put([1]);
    put([2, 3]);
    more = (item) => put([item]);
    await new Promise<void>((resolve) => (end = resolve));
  });
  const read: number[] = [];
  for await (const list of lists) {
    read.push(...list);
    if (list.includes(3)) queueMicrotask(() => more(4));
    if (list.includes(4)) more(5);
    if (list.includes(5)) end();
  }
  expect(read).toEqual([1, 2, 3, 4, 5]);
});

test('throws a failure after all values before it', async () => {
  const lists = pushIterable<number>(signal, (_signal, put) => {
    put([1]);
    return Promise.reject(new Error('broken'));
  });
  expect(await lists.next()).toEqual({ value: [1], done: false });
  await expect(lists.next()).rejects.toThrow('broken');
});

test('aborts when the reader stops', async () => {
  let given: AbortSignal | undefined;
  const lists = pushIterable<number>(signal, async (own, put) => {
    given = own;
    put([1]);
    await new Promise((resolve) => own.addEventListener('abort', resolve));
  });
  for await (const _ of lists) break;
  expect(given?.aborted).toBe(true);
});
