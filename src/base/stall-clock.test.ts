import { expect, it } from 'vitest';
import { createManualClock } from '../../test/support/manual-clock.ts';
import { StallClock } from './stall-clock.ts';

it('measures the lateness of its timer, also before the timer fires', async () => {
  const clock = createManualClock();
  const stalls = new StallClock(clock);
  stalls.start();
  await clock.advance(10_000);
  expect(stalls.ms).toBe(0);
  clock.stall(36_000);
  expect(stalls.ms).toBe(35_000);
  await clock.advance(500);
  expect(stalls.ms).toBeGreaterThanOrEqual(35_000);
  const before = stalls.ms;
  await clock.advance(10_000);
  expect(stalls.ms).toBe(before);
  stalls.stop();
  clock.stall(5_000);
  expect(stalls.ms).toBe(before);
});
