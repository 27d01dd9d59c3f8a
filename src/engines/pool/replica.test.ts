import { describe, expect, it } from 'vitest';
import { createFakeEngine } from '../../../test/support/fake-engine.ts';
import { createManualClock } from '../../../test/support/manual-clock.ts';
import { silent } from '../../base/log.ts';
import { Replica } from './replica.ts';

/** A replica asked by a process that reads at `readMs` what may have come since `arrivedMs`, for a request sent at 0. */
async function paceOf(arrivedMs: number, readMs: number): Promise<number> {
  const clock = { ...createManualClock(), arrival: () => arrivedMs };
  const random = { bytes: (n: number) => new Uint8Array(n), float: () => 0.5 };
  const parts = { clock, windowMs: 30_000, random, log: silent, onChange() {}, onWell() {} };
  const replica = new Replica(
    { name: 'gpu', engine: createFakeEngine(), account: 'a', weight: 1, isDraining: false },
    parts,
  );
  const sent = replica.sent(false);
  await clock.advance(readMs);
  replica.answered(sent, 2);
  replica.stop();
  return replica.pace;
}

describe('Replica', () => {
  it('takes the time that an answer lay here, while this process was busy, for none of the server', async () => {
    expect(await paceOf(50, 50)).toBe(25);
    expect(await paceOf(50, 80)).toBe(25);
  });

  it('takes half of the time for the server, however long this process is busy', async () => {
    expect(await paceOf(10, 80)).toBe(20);
  });
});
