import { beforeEach, describe, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '../../../test/support/manual-clock.ts';
import { silent } from '../../base/log.ts';
import type { Service } from '../../base/service.ts';
import { createArrivals } from './arrivals.ts';

describe('Arrivals', () => {
  let clock: ManualClock;
  let peers: { isAlone: boolean };
  let hasRoom: boolean;
  let created: { id: string; at: number }[];
  let reads: number;
  let wakes: number;
  let fails: boolean;
  let arrivals: Service;

  beforeEach(async () => {
    clock = createManualClock();
    peers = { isAlone: false };
    hasRoom = true;
    created = [];
    reads = wakes = 0;
    fails = false;
    const batches = {
      async createdSince(since: number, limit: number) {
        reads++;
        if (fails) throw new Error('away');
        const found = created.filter(({ at }) => at >= since).toSorted((a, b) => b.at - a.at);
        return found.slice(0, limit).map(({ id }) => id);
      },
    };
    const deps = { clock, time: clock, log: silent, peers, hasRoom: () => hasRoom, wake: () => void wakes++ };
    arrivals = createArrivals({ ...deps, store: { batches } });
    await arrivals.start();
  });

  const create = (id: string, at = clock.now()) => created.push({ id, at });

  it('wakes the process within 150 ms of a batch of another process, once', async () => {
    await clock.advance(1_000);
    expect(wakes).toBe(0);
    create('a');
    await clock.advance(150);
    expect(wakes).toBe(1);
    await clock.advance(10_000);
    expect(wakes).toBe(1);
  });

  it('notices a batch that is committed after a newer one', async () => {
    const before = clock.now();
    await clock.advance(400);
    create('newer');
    await clock.advance(150);
    expect(wakes).toBe(1);
    create('older', before);
    await clock.advance(150);
    expect(wakes).toBe(2);
  });

  it('notices new batches among more than it reads', async () => {
    for (let n = 0; n < 100; n++) create(`a${n}`);
    await clock.advance(150);
    await clock.advance(150);
    expect(wakes).toBe(1);
    create('b');
    await clock.advance(150);
    expect(wakes).toBe(2);
  });

  it('reads every 150 ms, and nothing without room or without other processes', async () => {
    reads = 0;
    await clock.advance(1_500);
    expect(reads).toBe(10);
    hasRoom = false;
    await clock.advance(1_500);
    hasRoom = true;
    peers.isAlone = true;
    await clock.advance(1_500);
    expect(reads).toBe(10);
  });

  it('goes on after a failed read', async () => {
    fails = true;
    await clock.advance(300);
    create('a');
    fails = false;
    await clock.advance(150);
    expect(wakes).toBe(1);
  });

  it('stops', async () => {
    await arrivals.stop();
    reads = 0;
    await clock.advance(1_000);
    expect(reads).toBe(0);
  });
});
