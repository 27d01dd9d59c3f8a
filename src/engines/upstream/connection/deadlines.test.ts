import { expect, it } from 'vitest';
import { createManualClock } from '../../../../test/support/manual-clock.ts';
import { Deadlines, type Timed } from './deadlines.ts';

interface Call extends Timed {
  dueAt: number;
}

function setUp() {
  const clock = createManualClock();
  const begun = clock.monotonic();
  const deadlines = new Deadlines<Call>(clock, 100);
  const expired: [string, number][] = [];
  const add = (name: string, ms: number): Call => {
    const call: Call = {
      place: 0,
      dueAt: clock.monotonic() + ms,
      expire() {
        expired.push([name, clock.monotonic() - begun]);
        deadlines.remove(call);
      },
    };
    deadlines.add(call);
    return call;
  };
  return { clock, deadlines, expired, add };
}

it('expires each in its time, whatever was added or waits for something else meanwhile', async () => {
  const { clock, expired, add } = setUp();
  add('whole', 1_000);
  await clock.advance(30);
  const silent = add('silent', 700);
  await clock.advance(40);
  add('short', 100);
  await clock.advance(99);
  expect(expired).toEqual([]);
  await clock.advance(1);
  // From now on it waits for something that comes sooner.
  silent.dueAt = clock.monotonic() + 100;
  await clock.advance(2_000);
  expect(expired).toEqual([
    ['short', 170],
    ['silent', 270],
    ['whole', 1_000],
  ]);
});

it('does not expire what was put off or is over, and leaves no timer behind', async () => {
  const { clock, deadlines, expired, add } = setUp();
  const going = add('going', 100);
  const over = add('over', 100);
  await clock.advance(99);
  going.dueAt = clock.monotonic() + 250;
  deadlines.remove(over);
  await clock.advance(249);
  expect(expired).toEqual([]);
  expect(deadlines.all).toEqual([going]);
  deadlines.remove(going);
  expect(clock.pending).toBe(0);
  await clock.advance(1_000);
  expect(expired).toEqual([]);
});
