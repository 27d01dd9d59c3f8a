import { stat } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { systemClock, systemRandom } from './system.ts';

describe('the arrival of network data', () => {
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  const monotonic = () => systemClock.monotonic();
  const arrival = () => systemClock.arrival();

  /** Keeps the process busy. @returns when it was free again */
  function work(): number {
    const begun = monotonic();
    let until = begun;
    while (until < begun + 20) until = monotonic();
    return until;
  }

  it('is between two turns of the event loop if the first one delayed the second', async () => {
    await turn();
    // The first may be the rest of a turn in which another test asked.
    await turn();
    const before = monotonic();
    arrival();
    const begun = monotonic();
    const until = work();
    await turn();
    const came = arrival();
    expect(came).toBeLessThanOrEqual((begun + monotonic()) / 2);
    expect(came).toBeGreaterThanOrEqual((before + until) / 2);
  });

  it('is the turn of the read if the process was idle before', async () => {
    await turn();
    arrival();
    work();
    const { idleTime } = performance.nodeTiming;
    let before = 0;
    while (performance.nodeTiming.idleTime === idleTime) {
      before = monotonic();
      await stat('.');
    }
    expect(arrival()).toBeGreaterThanOrEqual(before);
  });
});

describe('systemRandom', () => {
  it('never returns the same bytes twice', () => {
    const seen = new Set<string>();
    for (let i = 0; i < 2_000; i++) seen.add(Buffer.from(systemRandom.bytes(16)).toString('hex'));
    expect(seen.size).toBe(2_000);
  });

  it('returns independent bytes of any length', () => {
    const first = systemRandom.bytes(32);
    const copy = Uint8Array.from(first);
    for (let i = 0; i < 300; i++) systemRandom.bytes(32);
    expect(first).toEqual(copy);
    expect(systemRandom.bytes(10_000)).toHaveLength(10_000);
  });
});
