import { expect, it } from 'vitest';
import { createManualClock } from '../../../test/support/manual-clock.ts';
import { RecentRuns } from './recent-runs.ts';

it('holds a batch for ten seconds after its last line', () => {
  const clock = createManualClock();
  const runs = new RecentRuns(clock);
  expect(runs.has('b1')).toBe(false);
  runs.landed('b1');
  clock.stall(6_000);
  runs.landed('b1');
  runs.landed('b2');
  clock.stall(6_000);
  runs.landed('b3');
  expect([runs.has('b1'), runs.has('b2'), runs.has('b3')]).toEqual([true, true, true]);
  clock.stall(4_000);
  expect([runs.has('b1'), runs.has('b2'), runs.has('b3')]).toEqual([false, false, true]);
});
