import { expect, test } from 'vitest';
import { createMailbox } from './mailbox.ts';

test('delivers what comes before and while it is read, in order, until it is closed', async () => {
  const mailbox = createMailbox<number>();
  mailbox.put(1);
  mailbox.put(2);
  const read: number[] = [];
  for await (const item of mailbox) {
    read.push(item);
    if (item === 2) queueMicrotask(() => mailbox.put(3));
    if (item === 3) mailbox.close();
  }
  expect(read).toEqual([1, 2, 3]);
});

test('throws what it failed with after what it had', async () => {
  const mailbox = createMailbox<number>();
  mailbox.put(1);
  mailbox.fail(new Error('broken'));
  mailbox.close();
  const iterator = mailbox[Symbol.asyncIterator]();
  expect(await iterator.next()).toEqual({ value: 1, done: false });
  await expect(iterator.next()).rejects.toThrow('broken');
});
