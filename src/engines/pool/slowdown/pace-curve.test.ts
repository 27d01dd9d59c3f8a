import { describe, expect, it } from 'vitest';
import { lognormal } from '../../../../test/support/slot-server.ts';
import { PaceCurve } from './pace-curve.ts';

type Kind = Parameters<PaceCurve['add']>[0];

/** Pace of a server with continuous batching. */
const batching = (inFlight: number) => 12 + 0.12 * inFlight + 0.31 * Math.max(0, inFlight - 64);

function measure(
  curve: PaceCurve,
  kind: Kind,
  inFlight: number,
  { pace = batching, answers = 8, work = 100 } = {},
): void {
  for (let n = 0; n < answers; n++) curve.add(kind, { ms: pace(inFlight) * work, work, inFlight });
}

describe('PaceCurve', () => {
  it('tells how many requests slow interactive ones by a factor', () => {
    const curve = new PaceCurve();
    for (const inFlight of [1, 32, 64]) measure(curve, 'line', inFlight);
    // 1.3 times the 12.12 ms of one request.
    expect(curve.requestsWithin(1.3, 1)).toBeCloseTo(31.3, 1);
    expect(curve.requestsWithin(1.3, 8)).toBeCloseTo(40.4, 1);
    expect(curve.slowdown(65, 1)).toBeCloseTo(19.8 / 12.12, 1);
  });

  it('knows nothing from about one number of requests', () => {
    const curve = new PaceCurve();
    for (const inFlight of [40, 48, 64]) measure(curve, 'line', inFlight);
    expect(curve.requestsWithin(1.3, 1)).toBeNull();
    expect(curve.slowdown(64, 1)).toBeNull();
    expect(curve.fewest).toBeCloseTo(40);
  });

  it('takes a server with slots as it is', () => {
    const curve = new PaceCurve();
    for (const inFlight of [2, 8, 64]) measure(curve, 'line', inFlight, { pace: () => 20 });
    expect(curve.requestsWithin(1.3, 1)).toBe(Infinity);
    expect(curve.slowdown(64, 1)).toBe(1);
  });

  it('concludes from many requests on few, past the point where the server is full', () => {
    const curve = new PaceCurve();
    for (const inFlight of [20, 30, 45, 64, 80]) measure(curve, 'line', inFlight);
    expect(curve.requestsWithin(1.3, 1)).toBeCloseTo(31.3, 0);
  });

  it('takes the shape from all kinds of requests, however their answers differ', () => {
    const curve = new PaceCurve();
    measure(curve, 'canary', 8, { work: 1 });
    measure(curve, 'canary', 60, { work: 1 });
    for (const inFlight of [50, 64]) measure(curve, 'line', inFlight, { pace: (n) => 0.9 * batching(n) });
    for (const inFlight of [56, 62])
      measure(curve, 'interactive', inFlight, { pace: (n) => 1.7 * batching(n) });
    expect(curve.requestsWithin(1.3, 1)).toBeCloseTo(31.3, 0);
  });

  it('does not compare kinds that were never measured beside as many requests', () => {
    const curve = new PaceCurve();
    measure(curve, 'interactive', 1, { pace: () => 30 });
    measure(curve, 'line', 64);
    expect(curve.requestsWithin(1.3, 1)).toBeNull();
  });

  it('hardly counts an answer that hung', () => {
    const curve = new PaceCurve();
    for (const inFlight of [1, 32, 64]) measure(curve, 'interactive', inFlight, { answers: 64 });
    curve.add('interactive', { ms: 60_000, work: 10, inFlight: 1 });
    expect(curve.requestsWithin(1.3, 1)).toBeCloseTo(31.3, -1);
    expect(curve.requestsWithin(1.3, 1)).toBeLessThan(35);
  });

  it('finds about the same number from answers that differ by chance', () => {
    const found = [1, 2, 3, 4, 5].map((seed) => {
      const curve = new PaceCurve();
      const noise = lognormal(1, 0.3, seed);
      for (let n = 0; n < 64; n++)
        for (const inFlight of [1, 8, 31, 64])
          measure(curve, 'line', inFlight, { pace: (at) => batching(at) * noise(), answers: 1 });
      return curve.requestsWithin(1.3, 1)!;
    });
    expect(Math.min(...found)).toBeGreaterThan(18);
    expect(Math.max(...found)).toBeLessThan(45);
  });

  it('follows a server that changes', () => {
    const curve = new PaceCurve();
    for (const inFlight of [1, 32, 64]) measure(curve, 'line', inFlight, { answers: 64 });
    const other = (inFlight: number) => 12 + 0.5 * inFlight;
    for (const inFlight of [1, 32, 64]) measure(curve, 'line', inFlight, { answers: 300, pace: other });
    expect(curve.requestsWithin(1.3, 1)).toBeCloseTo(8.5, 0);
  });
});
