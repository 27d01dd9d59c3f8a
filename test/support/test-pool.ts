import type { Clock } from '../../src/base/clock.ts';
import type { Random } from '../../src/base/random.ts';
import { systemClock, systemRandom } from '../../src/base/system.ts';
import type { Engine, Pool } from '../../src/engines/engines.ts';
import { createPool } from '../../src/engines/pool/pool.ts';
import { silent } from '../../src/base/log.ts';

/** Returns a pool with one replica. */
export function createTestPool(
  engine: Engine,
  parts: { clock?: Clock; random?: Random; isShared?: boolean; maxSlowdown?: number | undefined } = {},
): Pool {
  const { clock = systemClock, random = systemRandom, isShared = false, maxSlowdown } = parts;
  const replicas = [{ name: 'only', engine, account: 'only', weight: 1, isDraining: false }];
  return createPool({ replicas, clock, random, log: silent, isShared, maxSlowdown });
}

/** Returns a pool that ignores failures: each request reaches the engine. */
export function createStatelessPool(engine: Engine): Pool {
  const slots = engine.slots ?? 1;
  const { native } = createTestPool(engine);
  const state = {
    slots,
    maxInFlight: slots,
    maxLines: Infinity,
    linesGiveWay: false,
    outcomes: { workedAt: 0, answers: 0, breaks: 0, isBreak: false },
    waiting: null,
    replicas: [],
    isShared: false,
    discovered: undefined,
    openBreakers: undefined,
  };
  return {
    ...engine,
    native,
    ...state,
    share() {},
    drain() {},
    cap() {},
    guaranteeBatches() {},
    onRoom() {},
  };
}
