import { describe, expect, it } from 'vitest';
import { createManualClock } from '../../../test/support/manual-clock.ts';
import { PrefixWarmup } from './prefix-warmup.ts';

describe('PrefixLeaders', () => {
  it('has the others wait for the first answer, of one model and prefix', () => {
    const leaders = new PrefixWarmup(createManualClock());
    expect(leaders.shouldWait('m', 'p')).toBe(false);
    leaders.sent('m', 'p');
    expect([
      leaders.shouldWait('m', 'p'),
      leaders.shouldWait('n', 'p'),
      leaders.shouldWait('m', 'q'),
    ]).toEqual([true, false, false]);
    leaders.answered('m', 'p');
    expect(leaders.shouldWait('m', 'p')).toBe(false);
    leaders.sent('m', 'p');
    expect(leaders.shouldWait('m', 'p')).toBe(false);
  });

  it('delays no line longer than two seconds, or without a prefix', async () => {
    const clock = createManualClock();
    const leaders = new PrefixWarmup(clock);
    leaders.sent('m', 'p');
    leaders.sent('m', '');
    expect(leaders.shouldWait('m', '')).toBe(false);
    await clock.advance(1_999);
    expect(leaders.shouldWait('m', 'p')).toBe(true);
    await clock.advance(1);
    expect(leaders.shouldWait('m', 'p')).toBe(false);
  });

  it('lets the next line lead when the leader failed, unless the cache is warm', () => {
    const leaders = new PrefixWarmup(createManualClock());
    leaders.sent('m', 'p');
    leaders.failed('m', 'p');
    expect(leaders.shouldWait('m', 'p')).toBe(false);
    leaders.sent('m', 'p');
    expect(leaders.shouldWait('m', 'p')).toBe(true);
    leaders.answered('m', 'p');
    leaders.failed('m', 'p');
    leaders.sent('m', 'p');
    expect(leaders.shouldWait('m', 'p')).toBe(false);
  });

  it('remembers a bounded number', () => {
    const leaders = new PrefixWarmup(createManualClock());
    for (let n = 0; n < 5_000; n++) leaders.sent('m', `p${n}`);
    expect([leaders.shouldWait('m', 'p0'), leaders.shouldWait('m', 'p4999')]).toEqual([false, true]);
  });
});
