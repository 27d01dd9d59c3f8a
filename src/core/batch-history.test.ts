import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addPoint,
  type BatchHistory,
  currentWait,
  historyLimits,
  noHistory,
  noteWait,
} from './batch-history.ts';
import type { Waiting, WaitingReason } from './waiting.ts';

const waiting = (reason: WaitingReason, since: number): Waiting => ({ reason, message: 'm', since });

describe('the points of a history', () => {
  it('are bounded, evenly spaced and in order, however long the batch runs', () => {
    let history = noHistory;
    for (let second = 0; second <= 86_400; second++)
      history = addPoint(history, [second * 1_000, second, 0, 0, 0]);
    const { points, intervalMs } = history;
    expect(points.length).toBeGreaterThan(historyLimits.points / 2);
    expect(points.length).toBeLessThanOrEqual(historyLimits.points);
    expect(points[0]).toEqual([0, 0, 0, 0, 0]);
    expect(points.at(-1)![0]).toBeGreaterThan(86_400_000 - 2 * intervalMs);
    const gaps = points.slice(1).map(([at], n) => at - points[n]![0]);
    expect([Math.min(...gaps), Math.max(...gaps)]).toEqual([intervalMs, intervalMs]);
  });

  it('are at least two seconds apart', () => {
    const two = addPoint(addPoint(noHistory, [0, 0, 0, 0, 0]), [1_999, 5, 0, 0, 0]);
    expect(two.points).toEqual([[0, 0, 0, 0, 0]]);
    expect(addPoint(two, [2_000, 6, 1, 10, 20]).points[1]).toEqual([2_000, 6, 1, 10, 20]);
  });
});

describe('the waits of a history', () => {
  it('begin and end with the reason', () => {
    let history = noteWait(noHistory, waiting('paused', 10), 12);
    expect(currentWait(history)).toMatchObject({ reason: 'paused', since: 10, until: null });
    expect(noteWait(history, waiting('paused', 99), 99)).toBe(history);
    history = noteWait(history, waiting('budget', 5), 20);
    history = noteWait(history, null, 30);
    expect(history.waits).toEqual([
      { reason: 'paused', message: 'm', since: 10, until: 20 },
      { reason: 'budget', message: 'm', since: 20, until: 30 },
    ]);
    expect(noteWait(history, null, 40)).toBe(history);
  });

  it('are one if the same reason comes back within seconds', () => {
    const ended = noteWait(noteWait(noHistory, waiting('queued', 0), 0), null, 60_000);
    const again = noteWait(ended, waiting('queued', 64_999), 64_999);
    expect(again.waits).toEqual([{ reason: 'queued', message: 'm', since: 0, until: null }]);
    expect(noteWait(ended, waiting('queued', 65_000), 65_000).waits).toHaveLength(2);
    expect(noteWait(ended, waiting('budget', 61_000), 61_000).waits).toHaveLength(2);
  });

  it('are bounded: the shortest are dropped and counted', () => {
    const step = fc.record({
      length: fc.integer({ min: 1, max: 100_000 }),
      gap: fc.integer({ min: 5_000, max: 9_000 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300, size: 'max' }), (steps) => {
        let history: BatchHistory = noHistory;
        let at = 0;
        for (const { length, gap } of steps) {
          history = noteWait(history, waiting('queued', at + gap), at + gap);
          at += gap + length;
          history = noteWait(history, null, at);
        }
        const dropped = Math.max(0, steps.length - historyLimits.waits);
        expect([history.waits.length, history.omittedWaits]).toEqual([steps.length - dropped, dropped]);
        if (steps.length > 0) {
          const longest = Math.max(...steps.slice(0, -1).map(({ length }) => length), 0);
          const kept = history.waits.map(({ since, until }) => until! - since);
          expect(Math.max(...kept)).toBeGreaterThanOrEqual(longest);
        }
      }),
    );
  });

  it('have bounded messages that can be stored', () => {
    const long = { ...waiting('budget', 0), message: `${'x'.repeat(499)}\u{1f600}` };
    expect(currentWait(noteWait(noHistory, long, 0))!.message).toBe(`${'x'.repeat(499)}\ufffd`);
  });
});
