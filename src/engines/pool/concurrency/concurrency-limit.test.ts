import { describe, expect, it } from 'vitest';
import { lognormal, seededFloats, simulateLoad } from '../../../../test/support/slot-server.ts';
import { RefusalBudget } from '../health/refusal-budget.ts';
import { type ConcurrencyLimit, createConcurrencyLimit } from './concurrency-limit.ts';

const still = () => 0;
const answer = { at: 0, work: 1 };

describe('createConcurrencyLimit', () => {
  it.each([
    [1, 2],
    [4, 5],
    [8, 9],
    [64, 72],
  ])('gives %i slots %i requests', (slots, maxInFlight) => {
    expect(createConcurrencyLimit(slots, still)).toMatchObject({ slots, maxInFlight });
  });

  it('uses the slots that the server reports where none are configured', () => {
    const limit = createConcurrencyLimit(null, still);
    expect(limit.slots).toBe(8);
    limit.applyReport({ slots: 32, queued: null });
    expect(limit).toMatchObject({ slots: 32, maxInFlight: 36 });
    limit.applyReport({ slots: null, queued: 0 });
    expect(limit.slots).toBe(32);
  });

  it('prefers the configured slots to the reported ones', () => {
    const limit = createConcurrencyLimit(16, still);
    limit.applyReport({ slots: 32, queued: null });
    expect(limit.slots).toBe(16);
  });

  it('starts from what was discovered earlier', () => {
    const served = (slots: number) =>
      simulateLoad(slots * 30 + 1_900, { slots: () => slots, serviceMs: lognormal(1_000, 0.2, 3) }, (now) => {
        const limit = createConcurrencyLimit(null, now);
        limit.seed(70);
        expect(limit.maxInFlight).toBe(70);
        return limit;
      });
    const [shrunk, same] = [served(4), served(70)];
    expect(shrunk.longestQueue).toBeLessThanOrEqual(75);
    expect(Math.max(...shrunk.maxInFlight.slice(-50))).toBeLessThanOrEqual(8);
    expect(same.fill).toBeGreaterThanOrEqual(0.95);
  });

  it('reports its unverified share: the headroom, or most of it during discovery', () => {
    expect(createConcurrencyLimit(64, still).unverifiedShare).toBeCloseTo(1 / 9);
    expect(createConcurrencyLimit(null, still).unverifiedShare).toBeCloseTo(0.3);
    const growing = createConcurrencyLimit(null, still);
    growing.refused(7);
    expect(growing.unverifiedShare).toBeLessThan(0.2);
    const following = createConcurrencyLimit(null, still);
    following.followPeer(72);
    expect(following.unverifiedShare).toBeCloseTo(1 / 9);
  });

  it('lowers the limit to the accepted requests after a refusal', () => {
    const limit = createConcurrencyLimit(64, still);
    limit.refused(60);
    expect(limit).toMatchObject({ slots: 60, maxInFlight: 60 });
  });

  it('loses at most 30 % to a burst of refusals', () => {
    let now = 1000;
    const limit = createConcurrencyLimit(64, () => now);
    for (let left = 71; left >= 0; left--) limit.refused(left);
    expect(limit.maxInFlight).toBe(50);
    now += 250;
    limit.refused(0);
    expect(limit.maxInFlight).toBe(35);
  });

  it('never falls below one', () => {
    let now = 0;
    const limit = createConcurrencyLimit(4, () => now);
    for (let refusal = 0; refusal < 20; refusal++) {
      limit.refused(0);
      now += 1000;
    }
    expect(limit).toMatchObject({ slots: 1, maxInFlight: 1 });
  });

  describe('after refusals', () => {
    const rounds = (limit: ConcurrencyLimit, count: number) => {
      for (let left = count * limit.maxInFlight; left > 0; left--) limit.answered(limit.sent(), answer);
    };

    it('soon rises in growing steps, up to the full limit, because they may have been sporadic', () => {
      const limit = createConcurrencyLimit(64, still);
      limit.refused(0);
      const seen = [limit.maxInFlight];
      for (let step = 0; step < 4; step++) {
        rounds(limit, 2);
        seen.push(limit.maxInFlight);
      }
      expect(seen).toEqual([50, 53, 59, 71, 72]);
      expect(limit.slots).toBe(64);
    });

    it('rises after twenty rounds at the earliest once a raise was refused', () => {
      let now = 0;
      const limit = createConcurrencyLimit(64, () => now);
      limit.refused(0);
      rounds(limit, 2);
      now += 1000;
      limit.refused(50);
      rounds(limit, 19);
      expect(limit.maxInFlight).toBe(50);
      rounds(limit, 1);
      expect(limit.maxInFlight).toBe(53);
    });

    it.each([
      { slots: null, share: 0.01, atMedian: 0.95, atWorst: 0.8 },
      { slots: null, share: 0.03, atMedian: 0.9, atWorst: 0.75 },
      { slots: 64, share: 0.05, atMedian: 0.95, atWorst: 0.95 },
    ])('uses a server that refuses $share of the requests, stated $slots', (each) => {
      const fills = Array.from({ length: 20 }, (_, seed) => {
        const random = seededFloats(seed + 3);
        const server = {
          slots: () => 64,
          serviceMs: lognormal(50, 0.2, seed),
          isSpurious: () => random() < each.share,
        };
        return simulateLoad(64 * 150, server, (now) => {
          const limit = createConcurrencyLimit(each.slots, now);
          const budget = new RefusalBudget();
          return {
            ...limit,
            get slots() {
              return limit.slots;
            },
            get maxInFlight() {
              return limit.maxInFlight;
            },
            answered(...args) {
              budget.answered();
              limit.answered(...args);
            },
            refused: (accepted) => void (budget.spend() || limit.refused(accepted)),
          };
        }).fill;
      }).toSorted((a, b) => a - b);
      expect(fills[10]).toBeGreaterThanOrEqual(each.atMedian);
      expect(fills[0]).toBeGreaterThanOrEqual(each.atWorst);
    });
  });

  it.each([null, 48, 64, 100])('learns what a server refuses, stated %s', (told) => {
    for (const sigma of [0, 0.3]) {
      const served = simulateLoad(
        48 * 400,
        { slots: () => 48, serviceMs: lognormal(50, sigma, 5), queueLimit: 48 },
        (now) => createConcurrencyLimit(told, now),
      );
      expect(served.fill).toBeGreaterThanOrEqual(0.9);
      expect(served.lateRefusals).toBeLessThan(served.lateAnswers * 0.05);
    }
  });

  it.each([null, 64])('loses little to a sporadic refusal, stated %s', (told) => {
    let isRefused = false;
    const served = simulateLoad(
      64 * 300,
      {
        slots: () => 64,
        serviceMs: () => 50,
        isSpurious: (now) => now > 3000 && !isRefused && (isRefused = true),
      },
      (now) => createConcurrencyLimit(told, now),
    );
    expect(served.refusals).toBe(1);
    expect(served.fill).toBeGreaterThanOrEqual(0.96);
    const [before, after] = [served.maxInFlight[18]!, served.maxInFlight.slice(20)];
    expect(Math.max(...after)).toBeGreaterThanOrEqual(72);
    expect(Math.min(...after.slice(0, 6)) / before).toBeGreaterThanOrEqual(0.7);
  });
});
