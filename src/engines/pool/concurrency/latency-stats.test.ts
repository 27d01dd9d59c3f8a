import { describe, expect, it } from 'vitest';
import { LatencyStats } from './latency-stats.ts';

function paceOf(...answers: [ms: number, work: number, inFlight: number][]): LatencyStats {
  const pace = new LatencyStats();
  for (const answer of answers) pace.add(...answer);
  return pace;
}

describe('LatencyStats', () => {
  it('weighs latencies by work', () => {
    const pace = paceOf([100, 1, 4], [900, 9, 6]);
    expect(pace).toMatchObject({ count: 2, mean: 100, concurrency: 5, meanWork: 5, meanMs: 500 });
  });

  it('does not count long answers to much work as an error', () => {
    expect(paceOf([100, 1, 4], [900, 9, 4]).error).toBe(0);
    expect(paceOf([100, 1, 4], [900, 1, 4]).error).toBeGreaterThan(0.5);
  });

  it('shows a queue by the quick answers where latencies differ', () => {
    const times = [20, 30, 40, 50, 160];
    const of = (wait: number) => paceOf(...times.map((ms) => [ms + wait, 1, 1] as [number, number, number]));
    const [alone, queued] = [of(0), of(20)];
    expect(queued.estimate.mean.pace / alone.estimate.mean.pace).toBeCloseTo(1.33);
    expect(queued.estimate.p30.pace / alone.estimate.p30.pace).toBeCloseTo(1.67);
    expect(paceOf([50, 1, 1], [100, 2, 1]).estimate.p30).toEqual({ pace: 50, error: 0 });
  });

  it('narrows the error of the mean with more answers', () => {
    const few = paceOf([40, 1, 1], [60, 1, 1]);
    const many = few.copy();
    for (let more = 0; more < 20; more++) many.merge(few);
    expect(many.mean).toBe(50);
    expect(many.error).toBeLessThan(few.error / 4);
    expect(few.count).toBe(2);
  });
});
