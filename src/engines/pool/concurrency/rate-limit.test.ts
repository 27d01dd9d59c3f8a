import { describe, expect, it } from 'vitest';
import { chatRequest, chatResponse, createFakeEngine } from '../../../../test/support/fake-engine.ts';
import { createManualClock, type ManualClock } from '../../../../test/support/manual-clock.ts';
import { seededFloats } from '../../../../test/support/slot-server.ts';
import { silent } from '../../../base/log.ts';
import { ApiError, unavailable } from '../../../core/errors.ts';
import type { Engine, RateLimitStatus } from '../../engines.ts';
import { createPool } from '../pool.ts';
import { createRateLimit } from './rate-limit.ts';

const answerMs = 500;

/** A provider that takes so many requests a second, has `most` saved up at most, and answers in half a second. */
function provider(clock: ManualClock, perSecond: number, most: number, tells: boolean) {
  let saved = most;
  let at = 0;
  let listener: ((told: RateLimitStatus) => void) | undefined;
  // Refusals of the first seconds, before the rate is known, are not counted.
  const counts = { asked: 0, refused: 0, served: 0 };
  const generate: Engine['generate'] = (_, { signal }) => {
    const now = clock.monotonic();
    saved = Math.min(most, saved + ((now - at) * perSecond) / 1_000);
    at = now;
    counts.asked++;
    const isTaken = saved >= 1;
    if (isTaken) saved--;
    else if (now > 10_000) counts.refused++;
    const remaining = Math.floor(saved);
    const told = { remaining, resetMs: ((most - saved) / perSecond) * 1_000 };
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('given up')));
      clock.after(isTaken ? answerMs : 1, () => {
        if (tells) listener?.(told);
        if (isTaken) counts.served++;
        if (isTaken) resolve(chatResponse('ok'));
        else reject(new ApiError('engine_overloaded', 'Slow down.', { blame: unavailable, retryAfter: 5 }));
      });
    });
  };
  const engine = {
    ...createFakeEngine(),
    generate,
    onRateLimit: (told: typeof listener) => void (listener = told),
  };
  return { engine, counts };
}

/**
 * A server of 48 slots that refuses what is more, and such a share of what it could take, and asks for a pause of a second: its
 * answers are on their way for 2 ms, and requests for `wayMs` at most.
 */
function crowded(clock: ManualClock, { stray = 0, wayMs = 0, seed = 3 } = {}) {
  const uniform = seededFloats(seed);
  const chance = seededFloats(4);
  let inWork = 0;
  const counts = { busyMs: 0, refused: 0 };
  const generate: Engine['generate'] = () =>
    new Promise((resolve, reject) => {
      const come = () => {
        if (inWork >= 48 || chance() < stray) {
          counts.refused++;
          const error = new ApiError('engine_overloaded', 'Full.', { blame: unavailable, retryAfter: 1 });
          clock.after(2, () => reject(error));
          return;
        }
        const ms = 45 + Math.floor(uniform() * 10);
        inWork++;
        counts.busyMs += ms;
        clock.after(ms, () => inWork--);
        clock.after(ms + 2, () => resolve(chatResponse('ok')));
      };
      if (wayMs === 0) come();
      else clock.after(Math.floor(uniform() * (wayMs + 1)), come);
    });
  return { engine: { ...createFakeEngine(), generate }, counts };
}

/** Keeps a pool over the server as full as it may be. */
async function keepFull(clock: ManualClock, engine: Engine, seconds: number): Promise<void> {
  const random = { bytes: (n: number) => new Uint8Array(n), float: () => 0.999_999 };
  const replica = { name: 'it', engine, account: 'key', weight: 1, isDraining: false };
  const pool = createPool({ replicas: [replica], clock, random, log: silent });
  const leave = new AbortController();
  let inFlight = 0;
  const fill = () => {
    while (inFlight < pool.maxInFlight) {
      inFlight++;
      void pool
        .generate(chatRequest(), { signal: leave.signal, priority: 'batch' })
        .catch(() => {})
        .finally(() => {
          inFlight--;
          if (!leave.signal.aborted) fill();
        });
    }
  };
  pool.onRoom(fill);
  fill();
  await clock.advance(seconds * 1_000);
  leave.abort();
  await pool.stop();
}

describe('F19: a provider with a rate limit', () => {
  async function run(slots: number | null, { tells = false, seconds = 400 } = {}) {
    const clock = createManualClock();
    const { engine, counts } = provider(clock, 10, tells ? 300 : 10, tells);
    await keepFull(clock, { ...engine, slots }, seconds);
    return {
      refused: counts.refused / counts.asked,
      served: counts.served / (10 * seconds + (tells ? 300 : 10)),
    };
  }

  it.each([
    ['whose slots are not told', null],
    ['that is said to have 64 slots', 64],
  ])('and asks for pauses of 5 s, %s, is asked as much as it takes', async (_, slots) => {
    const { refused, served } = await run(slots);
    expect(served).toBeGreaterThan(0.9);
    expect(refused).toBeLessThan(0.01);
  });

  it('that reports what is left is never exceeded after the start', async () => {
    const { refused, served } = await run(null, { tells: true, seconds: 200 });
    expect(served).toBeGreaterThan(0.9);
    expect(refused).toBeLessThan(0.01);
  });
});

it('a server that refuses only the excess over its slots is not paused, whatever its retry-after', async () => {
  const clock = createManualClock();
  const { engine, counts } = crowded(clock);
  await keepFull(clock, { ...engine, slots: null }, 4);
  expect(counts.busyMs / (48 * 4_000)).toBeGreaterThan(0.88);
  expect(counts.refused).toBeLessThan(50);
});

it('nor for refusals of requests with a slower path during ramp-up', async () => {
  const used = async (seed: number) => {
    const clock = createManualClock();
    const { engine, counts } = crowded(clock, { wayMs: 4, seed });
    await keepFull(clock, { ...engine, slots: null }, 4);
    return counts.busyMs / (48 * 4_000);
  };
  const shares = await Promise.all(Array.from({ length: 8 }, (_, seed) => used(seed + 1)));
  expect(Math.min(...shares)).toBeGreaterThan(0.85);
});

it.each([null, 48])(
  'a server that refuses one request in a hundred is given as much as ever, told %s slots',
  async (slots) => {
    const clock = createManualClock();
    const { engine, counts } = crowded(clock, { stray: 0.01 });
    await keepFull(clock, { ...engine, slots }, 30);
    expect(counts.busyMs / (48 * 30_000)).toBeGreaterThan(0.9);
  },
);

it('a server that refuses everything for a while shows no rate', async () => {
  const clock = createManualClock();
  const rate = createRateLimit(() => clock.monotonic());
  for (let n = 0; n < 10; n++) rate.sent();
  await clock.advance(20_000);
  for (let n = 0; n < 12; n++) {
    rate.sent();
    rate.refused(clock.monotonic());
    rate.paused(1_000);
    await clock.advance(1_000);
  }
  expect([rate.isKnown, rate.msLeft]).toEqual([false, 0]);
});
