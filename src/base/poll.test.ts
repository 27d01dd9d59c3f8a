import { beforeEach, describe, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '../../test/support/manual-clock.ts';
import { createPoll, type Poll } from './poll.ts';

let clock: ManualClock;
let stored: number;
let seen: number[];
let failures: number;
let isDown: boolean;
let poll: Poll;

beforeEach(() => {
  clock = createManualClock();
  [stored, seen, failures, isDown] = [1, [], 0, false];
  const read = async () => {
    if (isDown) throw new Error('down');
    seen.push(stored);
  };
  poll = createPoll(clock, 500, read, () => void failures++);
});

describe('a poll', () => {
  it('reads at the start and then after each interval, until it stops', async () => {
    await poll.start();
    expect(seen).toEqual([1]);
    stored = 2;
    await clock.advance(499);
    expect(seen).toEqual([1]);
    await clock.advance(1);
    expect(seen).toEqual([1, 2]);
    await clock.advance(1000);
    expect(seen).toEqual([1, 2, 2, 2]);
    await poll.stop();
    await clock.advance(5000);
    expect(seen).toHaveLength(4);
  });

  it('does not start without a first read', async () => {
    isDown = true;
    await expect(poll.start()).rejects.toThrow('down');
  });

  it('continues after failures, and reports the first of each row', async () => {
    await poll.start();
    isDown = true;
    await clock.advance(1500);
    expect([seen.length, failures]).toEqual([1, 1]);
    isDown = false;
    await clock.advance(500);
    expect(seen).toHaveLength(2);
    isDown = true;
    await clock.advance(500);
    expect(failures).toBe(2);
    await poll.stop();
  });

  it('refreshes with a read of its own, after one that is under way', async () => {
    const gates: (() => void)[] = [];
    const results: number[] = [];
    const slow = createPoll(
      clock,
      500,
      async () => {
        const found = stored;
        await new Promise<void>((resolve) => gates.push(resolve));
        results.push(found);
      },
      () => {},
    );
    const first = slow.refresh();
    await Promise.resolve();
    stored = 2;
    const second = slow.refresh();
    gates[0]!();
    await first;
    await expect.poll(() => gates.length).toBe(2);
    gates[1]!();
    await second;
    expect(results).toEqual([1, 2]);
  });
});
