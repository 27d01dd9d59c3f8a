import { expect, it } from 'vitest';
import { createManualClock } from '../../../test/support/manual-clock.ts';
import { SendPacer } from './send-pacer.ts';

it('allows two lines of each model a turn of the event loop, and goes on in the next, once', async () => {
  const clock = createManualClock();
  let next = 0;
  const turns = new SendPacer(clock, () => next++);
  expect(turns.left('m')).toBe(2);
  turns.sent('m', 1);
  expect([turns.left('m'), turns.left('other')]).toEqual([1, 2]);
  turns.sent('m', 1);
  turns.scheduleNext();
  turns.scheduleNext();
  expect([turns.left('m'), next]).toEqual([0, 0]);
  await clock.advance(0);
  expect([turns.left('m'), next]).toEqual([2, 1]);
  await clock.advance(10);
  expect(next).toBe(1);
});
