import { expect, it } from 'vitest';
import { countTurns } from '../../test/support/count-turns.ts';
import { createManualClock } from '../../test/support/manual-clock.ts';
import { LoopSlices } from './loop-slices.ts';

it('gives each caller a turn of its own, owners in round robin (attacks 5, 7 and 9)', async () => {
  const slices = new LoopSlices();
  const { turn, stop } = countTurns();
  const given: [owner: string, turn: number][] = [];
  const asked = ['a', 'a', 'a', 'a', 'b', 'b', 'c'].map(async (owner) => {
    await slices.next(owner);
    given.push([owner, turn()]);
  });
  await Promise.all(asked);
  stop();
  expect(given.map(([owner]) => owner).join('')).toBe('abcabaa');
  const turns = given.map(([, at]) => at);
  expect(turns).toEqual(turns.map((_, n) => turns[0]! + n));
});

it('runs the first step of a generator at once and every other one in its turn', async () => {
  const slices = new LoopSlices();
  const { turn, stop } = countTurns();
  const run = (owner: string) => {
    const steps: number[] = [];
    const work = function* () {
      for (let n = 0; n < 3; n++) {
        steps.push(turn());
        yield;
      }
      return steps;
    };
    return slices.run(owner, work());
  };
  const [a, b] = await Promise.all([run('a'), run('b')]);
  stop();
  expect([a[0], b[0]]).toEqual([0, 0]);
  expect(new Set([...a.slice(1), ...b.slice(1)]).size).toBe(4);
});

/** Clock that goes on by itself, and notes for how long it was asked to wait. */
function notingClock() {
  const waits: number[] = [];
  let now = 0;
  return {
    waits,
    work: (ms: number) => void (now += ms),
    monotonic: () => now,
    after(ms: number, fn: () => void) {
      waits.push(ms);
      now += ms;
      fn();
      return { cancel() {} };
    },
  };
}

it('rests after each slice for as long as it took while an interactive request is in flight (attacks 5 and 9)', async () => {
  const clock = notingClock();
  const slices = new LoopSlices(clock);
  const work = async () => {
    for (const ms of [0.25, 7, 90, 4]) {
      await slices.next();
      clock.work(ms);
    }
    await slices.next();
  };
  const leave = slices.enterInteractive();
  await work();
  expect(clock.waits).toEqual([1, 7, 20, 4]);
  leave();
  await work();
  expect(clock.waits).toHaveLength(4);
});

it('rests until the last interactive request has ended', () => {
  const slices = new LoopSlices(createManualClock());
  const leaves = [slices.enterInteractive(), slices.enterInteractive()];
  const rests = () => {
    let isCalled = false;
    slices.afterRest(3, () => (isCalled = true));
    return !isCalled;
  };
  expect(rests()).toBe(true);
  leaves[0]!();
  expect(rests()).toBe(true);
  leaves[1]!();
  expect(rests()).toBe(false);
});
