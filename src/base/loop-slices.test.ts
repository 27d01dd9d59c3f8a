import { expect, it } from 'vitest';
import { countTurns } from '../../test/support/count-turns.ts';
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
