import { describe, expect, it } from 'vitest';
import { createFakeEngine } from '../../../test/support/fake-engine.ts';
import { createManualClock } from '../../../test/support/manual-clock.ts';
import type { Clock } from '../../base/clock.ts';
import { type Log, silent } from '../../base/log.ts';
import { ApiError } from '../../core/errors.ts';
import { Replica } from './replica.ts';

function replicaOf(own: { clock: Clock; log: Log }): Replica {
  const random = { bytes: (n: number) => new Uint8Array(n), float: () => 0.5 };
  return new Replica(
    { name: 'gpu', engine: createFakeEngine(), account: 'a', weight: 1, isDraining: false },
    {
      isShared: false,
      maxSlowdown: Infinity,
      lineFloor: () => 0,
      windowMs: 30_000,
      random,
      onChange() {},
      onLeft() {},
      onTested() {},
      ...own,
    },
  );
}

/** A replica asked by a process that reads at `readMs` what may have come since `arrivedMs`, for a request sent at 0. */
async function paceOf(arrivedMs: number, readMs: number): Promise<number> {
  const clock = { ...createManualClock(), arrival: () => arrivedMs };
  const replica = replicaOf({ clock, log: silent });
  const sent = replica.sent('interactive', false);
  await clock.advance(readMs);
  replica.answered(sent, 2);
  replica.stop();
  return replica.pace;
}

describe('Replica', () => {
  it('does not attribute the time that an answer waited in this busy process to the server', async () => {
    expect(await paceOf(50, 50)).toBe(25);
    expect(await paceOf(50, 80)).toBe(25);
  });

  it('attributes half of the time to the server, however long this process is busy', async () => {
    expect(await paceOf(10, 80)).toBe(20);
  });

  it('logs why a server cannot be reached', () => {
    const warnings: object[] = [];
    const log = { ...silent, warn: (fields: object) => void warnings.push(fields) };
    const replica = replicaOf({ clock: createManualClock(), log });
    const cause = Object.assign(new Error('x'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    replica.failed(
      replica.sent('interactive', false),
      new ApiError('upstream_unreachable', 'Away.', { cause }),
    );
    replica.stop();
    expect(warnings).toMatchObject([{ upstream: 'gpu', reason: 'DEPTH_ZERO_SELF_SIGNED_CERT' }]);
  });
});
