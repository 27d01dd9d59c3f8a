import type { Clock } from '../../src/base/clock.ts';
import type { Random } from '../../src/base/random.ts';
import { systemClock, systemRandom } from '../../src/base/system.ts';
import type { Engine, Pool } from '../../src/engines/engines.ts';
import { createPool } from '../../src/engines/pool/pool.ts';
import { silent } from '../../src/base/log.ts';

/** A pool of one replica, as a model with one engine has it. */
export function createTestPool(
  engine: Engine,
  parts: { clock?: Clock; random?: Random; isShared?: boolean } = {},
): Pool {
  const { clock = systemClock, random = systemRandom, isShared = false } = parts;
  const replicas = [{ name: 'only', engine, account: 'only', weight: 1, isDraining: false }];
  return createPool({ replicas, clock, random, log: silent, isShared });
}

/** A pool that learns nothing from failures: each request meets the engine itself. */
export function createStatelessPool(engine: Engine): Pool {
  const slots = engine.slots ?? 1;
  const { native } = createTestPool(engine);
  const state = {
    slots,
    maxInFlight: slots,
    outcomes: { workedAt: 0, answers: 0, breaks: 0, isBreak: false },
    waiting: null,
    replicas: [],
    isShared: false,
    discovered: undefined,
    closedServers: undefined,
  };
  return { ...engine, native, ...state, share() {}, onRoom() {} };
}
