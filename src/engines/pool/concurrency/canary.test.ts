import { describe, expect, it } from 'vitest';
import { h200, largeGpu, processor } from '../../../../test/support/batching-curves.ts';
import type { BatchingCurve } from '../../../../test/support/batching-server.ts';
import {
  createWorld,
  linesOf,
  runDiscovered,
  runFixed,
  type World,
} from '../../../../test/support/batching-load.ts';

interface Load {
  count: number;
  tokens: number;
  curve?: BatchingCurve;
  /** Number of requests with about the highest throughput. */
  bestAt?: number;
}

/** Share of the throughput with the best fixed number of requests. */
async function shareOfBest(
  { count, tokens, curve = h200, bestAt = 64 }: Load,
  world: World = createWorld(curve),
): Promise<number> {
  const lines = linesOf(count, tokens);
  const fixed = [bestAt, 1.25 * bestAt].map((limit) => runFixed(curve, lines, limit));
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
    const large = { count: 600, tokens: 400, curve: largeGpu, bestAt: 256 };
    expect(await shareOfBest(large)).toBeGreaterThanOrEqual(0.9);
    const world = createWorld(processor);
    const small = { count: 200, tokens: 96, curve: processor, bestAt: 16 };
    expect(await shareOfBest(small, world)).toBeGreaterThanOrEqual(0.85);
    expect(world.pool.maxInFlight).toBeLessThanOrEqual(24);
  });

  it('is never given what it cannot run, where a request waits for a place', async () => {
    const four = { ...h200, maxRunning: 4 };
    const world = createWorld(four);
    await runDiscovered(world, linesOf(200, 400));
    expect(world.engine.server.longestQueue).toBeLessThanOrEqual(24);
    expect(world.pool.maxInFlight).toBeLessThanOrEqual(9);
  });

  it('is asked without canaries where it does not stream', async () => {
    const world = createWorld(h200);
    let canaries = 0;
    world.engine.stream = async function* () {
      canaries++;
      yield await Promise.reject(new Error('no streams'));
    };
    expect(await shareOfBest({ count: 1_000, tokens: 96 }, world)).toBeGreaterThanOrEqual(0.7);
    expect(canaries).toBe(1);
  });

  it('is not asked for canaries where answers come at once', async () => {
    const world = createWorld({
      ...h200,
      steps: [
        [32, 1],
        [64, 1],
        [128, 65],
      ],
    });
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
