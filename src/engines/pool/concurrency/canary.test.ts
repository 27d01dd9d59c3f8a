import { describe, expect, it } from 'vitest';
import { type BatchingCurve, h200 } from '../../../../test/support/batching-engine.ts';
import {
  createWorld,
  linesOf,
  runDiscovered,
  runFixed,
  type World,
} from '../../../../test/support/batching-load.ts';

/** Share of the throughput with the best fixed number of requests. */
async function shareOfBest(
  { count, tokens, curve = h200 }: { count: number; tokens: number; curve?: BatchingCurve },
  world: World = createWorld(curve),
): Promise<number> {
  const lines = linesOf(count, tokens);
  const fixed = [curve.knee, 1.25 * curve.knee].map((limit) => runFixed(curve, lines, limit));
  const best = Math.min(...(await Promise.all(fixed)));
  return best / (await runDiscovered(world, lines));
}

describe('a server with continuous batching, whose answers take seconds', () => {
  it.each([
    { answers: '2 s', count: 600, tokens: 96, atLeast: 0.9 },
    { answers: '10 s', count: 300, tokens: 400, atLeast: 0.9 },
    { answers: '20 s', count: 300, tokens: 900, atLeast: 0.85 },
  ])('is nearly full from the first batch on: $answers', async ({ atLeast, ...load }) => {
    const world = createWorld(h200);
    expect(await shareOfBest(load, world)).toBeGreaterThanOrEqual(atLeast);
    expect(await shareOfBest(load, world)).toBeGreaterThanOrEqual(0.97);
  });

  it('is full from the start where its limit is remembered', async () => {
    const world = createWorld(h200);
    world.pool.share({ others: 0, discovered: null, lastDiscovered: { gpu: 64 } });
    expect(world.pool.maxInFlight).toBe(64);
    expect(await shareOfBest({ count: 300, tokens: 400 }, world)).toBeGreaterThanOrEqual(0.95);
  });

  it('gets what is best for it where that is far more or less', async () => {
    const large = { ...h200, baseMs: 25, perRequestMs: 0.05, knee: 256, aboveKneeMs: 0.2, maxRunning: 512 };
    expect(await shareOfBest({ count: 600, tokens: 400, curve: large })).toBeGreaterThanOrEqual(0.9);
    const small = { ...h200, baseMs: 60, perRequestMs: 4, knee: 16, aboveKneeMs: 8, readMs: 1.5 };
    const world = createWorld(small);
    expect(await shareOfBest({ count: 200, tokens: 96, curve: small }, world)).toBeGreaterThanOrEqual(0.85);
    expect(world.pool.maxInFlight).toBeLessThanOrEqual(24);
  });

  it('is never given what it cannot run, where a request waits for a place', async () => {
    const four = { ...h200, maxRunning: 4 };
    const world = createWorld(four);
    await runDiscovered(world, linesOf(200, 400));
    expect(world.engine.longestQueue).toBeLessThanOrEqual(24);
    expect(world.pool.maxInFlight).toBeLessThanOrEqual(9);
  });

  it('is asked without canaries where it does not stream', async () => {
    const world = createWorld(h200);
    let canaries = 0;
    world.engine.stream = async function* () {
      canaries++;
      yield await Promise.reject(new Error('no streams'));
    };
    expect(await shareOfBest({ count: 1_000, tokens: 96 }, world)).toBeGreaterThanOrEqual(0.75);
    expect(canaries).toBe(1);
  });

  it('is not asked for canaries where answers come at once', async () => {
    const world = createWorld({ ...h200, baseMs: 1, perRequestMs: 0, aboveKneeMs: 1 });
    let canaries = 0;
    const stream = world.engine.stream.bind(world.engine);
    world.engine.stream = (...values) => {
      canaries++;
      return stream(...values);
    };
    await runDiscovered(world, linesOf(2_000, 20));
    expect(canaries).toBe(0);
  });
});
