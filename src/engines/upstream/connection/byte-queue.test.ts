import { expect, it } from 'vitest';
import { createByteQueue } from './byte-queue.ts';

const noop = () => {};

async function textsOf(chunks: AsyncIterable<Buffer>): Promise<string[]> {
  const texts: string[] = [];
  for await (const chunk of chunks) texts.push(chunk.toString());
  return texts;
}

it('joins all queued chunks', async () => {
  const unread = createByteQueue();
  for (const part of ['a', 'b', 'c']) unread.push(Buffer.from(part));
  const reader = unread.read(noop, noop);
  expect((await reader.next()).value?.toString()).toBe('abc');
  unread.push(Buffer.from('d'));
  unread.end();
  expect(await textsOf(reader)).toEqual(['d']);
});

it('pauses the socket when the reader is behind, and again at once after as much data', async () => {
  const unread = createByteQueue();
  const flood = Buffer.alloc(300 * 1024, 'x');
  const taken: boolean[] = [unread.push(Buffer.from('x')), unread.push(flood)];
  let left = 2;
  const reader = unread.read(() => {
    if (left-- > 0) taken.push(unread.push(flood));
    else unread.end();
  }, noop);
  const sizes: number[] = [];
  for await (const chunk of reader) sizes.push(chunk.length);
  expect(taken).toEqual([true, false, false, false]);
  expect(sizes).toEqual([flood.length + 1, flood.length, flood.length]);
});

it('yields the data before a failure, then fails', async () => {
  const unread = createByteQueue();
  unread.push(Buffer.from('said'));
  unread.fail(new Error('broken'));
  const reader = unread.read(noop, noop);
  expect((await reader.next()).value?.toString()).toBe('said');
  await expect(reader.next()).rejects.toThrow('broken');
});

it('reports a reader that leaves before the end, and none that leaves after it', async () => {
  const told: string[] = [];
  for (const name of ['early', 'late']) {
    const unread = createByteQueue();
    unread.push(Buffer.from('x'));
    if (name === 'late') unread.end();
    for await (const _ of unread.read(noop, () => told.push(name))) break;
  }
  expect(told).toEqual(['early']);
});
