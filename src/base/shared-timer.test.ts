import { expect, it } from 'vitest';
import { createManualClock } from '../../test/support/manual-clock.ts';
import { createSharedTimer } from './shared-timer.ts';

it('fires for each entry in time, and not for cancelled ones', async () => {
  const clock = createManualClock();
  const after = createSharedTimer(clock, 100);
  const rang: string[] = [];
  const start = (name: string) => after(() => void rang.push(name));
  start('a');
  await clock.advance(30);
  const second = start('b');
  start('c');
  await clock.advance(30);
  start('d');
  second.cancel();
  await clock.advance(39);
  expect(rang).toEqual([]);
  await clock.advance(1);
  expect(rang).toEqual(['a']);
  await clock.advance(30);
  expect(rang).toEqual(['a', 'c']);
  await clock.advance(30);
  expect(rang).toEqual(['a', 'c', 'd']);
});

it('leaves no timer when it is empty, and starts again', async () => {
  const clock = createManualClock();
  const set: number[] = [];
  let cancelled = 0;
  const after = createSharedTimer(
    {
      monotonic: () => clock.monotonic(),
      after(ms, fn) {
        set.push(ms);
        const timer = clock.after(ms, fn);
        return { cancel: () => (cancelled++, timer.cancel()) };
      },
    },
    100,
  );
  const first = after(() => {});
  const second = after(() => {});
  first.cancel();
  expect(cancelled).toBe(0);
  second.cancel();
  expect(cancelled).toBe(1);
  let rang = 0;
  after(() => rang++);
  await clock.advance(99);
  expect(rang).toBe(0);
  await clock.advance(1);
  expect([rang, set.length]).toEqual([1, 2]);
});

it('accepts entries while it fires', async () => {
  const clock = createManualClock();
  const after = createSharedTimer(clock, 100);
  const rang: string[] = [];
  after(() => {
    rang.push('first');
    after(() => void rang.push('next'));
  });
  await clock.advance(1);
  after(() => void rang.push('second'));
  await clock.advance(99);
  expect(rang).toEqual(['first']);
  await clock.advance(1);
  expect(rang).toEqual(['first', 'second']);
  await clock.advance(99);
  expect(rang).toEqual(['first', 'second', 'next']);
});
