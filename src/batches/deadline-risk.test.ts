import { describe, expect, it } from 'vitest';
import type { OpenBatch } from '../store/contract/batches.ts';
import { type Hours, parseHours } from '../core/hours.ts';
import { batchesAtRisk as lateAmong } from './deadline-risk.ts';

const hour = 3_600_000;
const day = 24 * hour;
const batch = (id: string, fields: Partial<OpenBatch> = {}): OpenBatch => ({
  id,
  orgId: 'a',
  keyId: 'key_1',
  keyFamily: null,
  model: 'm',
  due: 0,
  total: 1000,
  ok: 0,
  err: 0,
  createdAt: 0,
  inProgressAt: null,
  expiresAt: day,
  pausedAt: null,
  pausedMs: 0,
  est: 0,
  atRiskAt: null,
  ...fields,
});
const lateOnes = (batches: OpenBatch[], now: number, hours?: Hours, from = now) =>
  lateAmong(batches, () => ({ now, from, hours }));
/** One that began at once and did so many. */
const going = (id: string, ok: number, fields: Partial<OpenBatch> = {}) =>
  batch(id, { inProgressAt: 0, ok, ...fields });

describe('a batch is late', () => {
  it('when it is too slow, failures counted', () => {
    expect(lateOnes([going('slow', 40, { err: 1 }), going('fast', 42)], hour)).toEqual(['slow']);
  });

  it('by its rate while it was not paused', () => {
    expect(lateOnes([going('b', 50, { pausedMs: hour })], 2 * hour)).toEqual([]);
    expect(lateOnes([going('b', 50, { pausedAt: hour })], 2 * hour)).toEqual([]);
    expect(lateOnes([going('b', 50)], 2 * hour)).toEqual(['b']);
  });

  it('but not by its first answers', () => {
    expect(lateOnes([going('b', 1)], day / 101)).toEqual([]);
    expect(lateOnes([going('b', 1)], day / 99)).toEqual(['b']);
  });

  it('if the batches of its org and model before it take too long', () => {
    const first = going('first', 100, { due: 1 });
    const next = batch('next', { due: 2, total: 1500 });
    const last = batch('last', { due: 3 });
    const others = [batch('other org', { orgId: 'b', due: 9 }), batch('other model', { model: 'n', due: 9 })];
    // 100 an hour: 900 + 1500 are done after 24 hours, one of which is over.
    expect(lateOnes([last, first, next, ...others], hour)).toEqual(['next', 'last']);
    expect(lateOnes([last, first, { ...next, total: 1400 }, ...others], hour)).toEqual(['last']);
  });

  it('not because the machine slept for days, which moved its window along', () => {
    const slept = batch('b', { pausedMs: 5 * day, expiresAt: 6 * day });
    expect(lateOnes([slept], 5.5 * day)).toEqual([]);
    expect(lateOnes([slept], 5.75 * day)).toEqual(['b']);
  });

  it('when nothing of it was done in three quarters of its window, and nothing else is known', () => {
    for (const silent of [batch('b'), going('b', 0)]) {
      expect(lateOnes([silent], 0.75 * day - 1)).toEqual([]);
      expect(lateOnes([silent], 0.75 * day)).toEqual(['b']);
    }
  });

  it('by the time it may run, where that is certain hours', () => {
    const hours: Hours = { ...parseHours('12:00-16:00')!, share: 0 };
    // Silent until 15:00 is silent for three quarters of it.
    expect(lateOnes([batch('b')], 15 * hour - 1, hours)).toEqual([]);
    expect(lateOnes([batch('b')], 15 * hour, hours)).toEqual(['b']);
    // 900 in an hour: what is left goes into the next hours, if the window holds them.
    const begun = { inProgressAt: 15 * hour, total: 4_500, createdAt: 15 * hour };
    expect(lateOnes([going('b', 900, { ...begun, expiresAt: 40 * hour })], 20 * hour, hours)).toEqual([]);
    expect(lateOnes([going('b', 900, { ...begun, expiresAt: 39 * hour })], 20 * hour, hours)).toEqual(['b']);
    // No hours are left of its window: late from the beginning.
    expect(lateOnes([batch('b', { createdAt: 17 * hour })], 17 * hour, hours)).toEqual(['b']);
    expect(lateOnes([batch('b', { createdAt: 17 * hour })], 17 * hour, { ...hours, share: 0.1 })).toEqual([]);
  });

  it('when its organization may spend again too late, or never', () => {
    const again = (from: number) => lateOnes([batch('b'), going('g', 500)], hour, undefined, from);
    expect(again(hour)).toEqual([]);
    // 500 an hour: what is left of the one takes an hour, the other two.
    expect(again(22 * hour)).toEqual([]);
    expect(again(23 * hour)).toEqual(['b']);
    expect(again(24 * hour)).toEqual(['b', 'g']);
    expect(again(Number.POSITIVE_INFINITY)).toEqual(['b', 'g']);
    // A batch without estimates.
    const silent = (from: number) => lateOnes([batch('b')], hour, undefined, from);
    expect([silent(24 * hour - 1), silent(24 * hour)]).toEqual([[], ['b']]);
    const hours: Hours = { ...parseHours('12:00-16:00')!, share: 0 };
    expect(lateOnes([batch('b')], 0, hours, 15 * hour)).toEqual([]);
    expect(lateOnes([batch('b')], 0, hours, 16 * hour)).toEqual(['b']);
  });
});
