import { array, assert, integer, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type BatchWork, workByModel } from './work-left.ts';

const hour = 3_600_000;
const work = (more: Partial<BatchWork>): BatchWork => ({
  model: 'tiny',
  orgId: 'a',
  requests: 1,
  tokens: 3_600,
  due: 1,
  msLeft: hour,
  ...more,
});

describe('work left', () => {
  it('is summed by model, with the shares of the orgs, largest first', () => {
    const all = [
      work({}),
      work({ orgId: 'b', requests: 4, tokens: 9_000 }),
      work({ model: 'big', requests: 2 }),
    ];
    expect(workByModel(all, () => null)).toEqual([
      {
        model: 'tiny',
        requests: 5,
        tokens: 12_600,
        seconds: null,
        slackSeconds: null,
        neededTokensPerSecond: 12_600 / 3_600,
        orgs: [
          { orgId: 'b', requests: 4, tokens: 9_000 },
          { orgId: 'a', requests: 1, tokens: 3_600 },
        ],
      },
      expect.objectContaining({ model: 'big', requests: 2, tokens: 3_600 }),
    ]);
  });

  it('takes the seconds of the rate of its model', () => {
    const all = [work({}), work({ model: 'big' })];
    const rates: Record<string, number> = { tiny: 2, big: 36 };
    expect(workByModel(all, (model) => rates[model]!).map(({ seconds }) => seconds)).toEqual([1_800, 100]);
  });

  it('has the slack of the batch that can spare least, which need not be the next to expire', () => {
    const next = work({ msLeft: hour, tokens: 10 });
    const large = work({ msLeft: 2 * hour, tokens: 7_000 });
    const [tiny] = workByModel([large, next], () => 1);
    expect(tiny!.slackSeconds).toBe(7_200 - 7_010);
  });

  it('does not count work with a later deadline against a batch', () => {
    const [tiny] = workByModel([work({ tokens: 600 }), work({ msLeft: 24 * hour, tokens: 80_000 })], () => 1);
    expect(tiny!.slackSeconds).toBe(3_000);
  });

  it('needs the rate of the batch that needs most, and counts the work before it', () => {
    const needed = (...all: BatchWork[]) => workByModel(all, () => null)[0]!.neededTokensPerSecond;
    const small = work({ tokens: 36_000 });
    expect(needed(small)).toBe(10);
    expect(needed(work({ msLeft: 2 * hour, tokens: 720_000 }), small)).toBe(756_000 / 7_200);
    expect(needed(work({ msLeft: 24 * hour, tokens: 1 }), small)).toBe(10);
    expect(needed(work({ msLeft: 0, tokens: 600 }))).toBe(10);
  });

  it('is negative exactly if some batch misses its window, in the order of the deadlines', () => {
    const one = record({
      tokens: integer({ min: 1, max: 500 }),
      msLeft: integer({ min: 0, max: 1_000_000 }),
    });
    assert(
      property(array(one, { minLength: 1, maxLength: 8 }), integer({ min: 1, max: 5 }), (parts, rate) => {
        const [tiny] = workByModel(parts.map(work), () => rate);
        let at = 0;
        const ends = parts
          .toSorted((a, b) => a.msLeft - b.msLeft)
          .map(({ tokens, msLeft }) => ({ end: (at += (tokens / rate) * 1_000), msLeft }));
        const misses = ends.some(({ end, msLeft }) => end - msLeft > 1e-6);
        expect(tiny!.slackSeconds! < -1e-9).toBe(misses);
      }),
    );
  });
});
