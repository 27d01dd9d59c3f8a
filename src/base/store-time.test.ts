import { describe, expect, it } from 'vitest';
import { createManualClock } from '../../test/support/manual-clock.ts';
import { StoreTime } from './store-time.ts';

describe('StoreTime', () => {
  it('equals the wall clock until it is synchronized', () => {
    expect(new StoreTime(createManualClock(5_000)).now()).toBe(5_000);
  });

  it('follows the database, and the monotonic clock in between', async () => {
    const clock = createManualClock(5_000);
    const time = new StoreTime(clock);
    time.synchronize(90_000, clock.monotonic());
    expect(time.now()).toBe(90_000);
    await clock.advance(250);
    expect(time.now()).toBe(90_250);
  });

  it('moves by the minimum that a slow answer requires', async () => {
    const clock = createManualClock(5_000);
    const time = new StoreTime(clock);
    time.synchronize(90_000, clock.monotonic());
    const asked = clock.monotonic();
    await clock.advance(27_000);
    time.synchronize(90_010, asked);
    expect(time.now()).toBe(117_000);
    time.synchronize(200_000, asked);
    expect(time.now()).toBe(200_000);
  });

  it('distinguishes a jump from a slow answer and from drift', async () => {
    const clock = createManualClock(0);
    const time = new StoreTime(clock);
    await clock.advance(60_000);
    expect(time.jump(20_000, 0)).toBe(0);
    expect(time.jump(64_999, 60_000)).toBe(0);
    expect(time.jump(90_060_000, 60_000)).toBe(90_000_000);
    expect(time.jump(-3_540_000, 60_000)).toBe(-3_600_000);
    expect(time.jump(70_000, 0)).toBe(10_000);
  });
});
