import { beforeEach, describe, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '../../../test/support/manual-clock.ts';
import { silent } from '../../base/log.ts';
import type { WorkerLoad } from '../../core/worker-load.ts';
import type { Store } from '../../store/store.ts';
import { StoreTime } from '../../base/store-time.ts';
import { Heartbeat } from './heartbeat.ts';

describe('Heartbeat', () => {
  const skew = 3_600_000;
  let clock: ManualClock;
  let time: StoreTime;
  let said: string[];
  let warned: string[];
  let away: boolean;
  let hangs: Promise<void> | null;
  let claiming: Promise<void> | null;
  let reaped: number;
  let others: Record<string, number>[];
  let began: number;
  let immovable: boolean;
  let waits: WorkerLoad['waits'];
  let heartbeat: Heartbeat;

  beforeEach(() => {
    clock = createManualClock();
    time = new StoreTime(clock);
    said = [];
    warned = [];
    away = false;
    hangs = null;
    claiming = null;
    reaped = 0;
    others = [];
    immovable = false;
    waits = undefined;
    const tell = async <T>(what: string, answer: T): Promise<T> => {
      if (away) throw new Error('the database is away');
      said.push(what);
      return answer;
    };
    const workers: Partial<Store['workers']> = {
      beat: async (_id, load) => {
        const answer = { now: clock.now() + skew, others: others.map((interactive) => ({ interactive })) };
        await hangs;
        return tell(`beat ${JSON.stringify(load.interactive)}`, answer);
      },
      leases: () => tell('leases', [{ batchId: 'b', seq: 7, epoch: 1 }]),
      reap: (before) => tell(`reap ${before - clock.now() - skew}`, reaped),
      finishUpgrade: () => tell('upgrade', true),
    };
    heartbeat = new Heartbeat({
      store: { workers } as Store,
      detached: () => [],
      peers: {
        update: (told) => said.push(`others ${JSON.stringify(told.map(({ interactive }) => interactive))}`),
      },
      worker: 'wrk_1',
      clock,
      time,
      log: { ...silent, warn: (_, message) => void warned.push(message) },
      giveBackStrays: async () => {
        await claiming;
        await tell('strays', undefined);
      },
      load: () => ({ interactive: { m: 2 }, ...(waits && { waits }) }),
      moveWindows: async (by) => {
        if (immovable) throw new Error('the database is away');
        said.push(`move ${by} at ${time.now() - began}`);
      },
      onReaped: () => said.push('reaped'),
      onRefetched: (leases) => said.push(`left ${leases.map(({ seq }) => seq).join()}`),
    });
  });

  it('reports its load, and fetches the time and the load of the peers', async () => {
    others = [{ m: 1, n: 4 }, { m: 2 }];
    reaped = 3;
    await heartbeat.start();
    expect(said).toEqual(['beat {"m":2}', 'others [{"m":1,"n":4},{"m":2}]', 'strays']);
    expect(time.now()).toBe(clock.now() + skew);
  });

  it('comes sooner while the process waits for servers, and once when it waits no more', async () => {
    const beatsAfter = async (ms: number) => {
      said = [];
      await clock.advance(ms);
      return said.filter((what) => what.startsWith('beat')).length;
    };
    await heartbeat.start();
    expect(await beatsAfter(9_999)).toBe(0);
    expect(await beatsAfter(20_000)).toBe(2);
    waits = { m: { scope: 'account', code: 'upstream_error', message: 'No such key.', since: 0 } };
    expect(await beatsAfter(10_000)).toBe(5);
    waits = undefined;
    expect(await beatsAfter(2_000)).toBe(1);
    expect(await beatsAfter(8_000)).toBe(0);
  });

  it('takes nothing from the dead in its first life-time: the database may have been away for all until now', async () => {
    reaped = 3;
    await heartbeat.start();
    await clock.advance(29_999);
    expect(said).not.toContain('reap -30000');
    await clock.advance(1);
    expect(said.slice(-4)).toEqual(['strays', 'reap -30000', 'reaped', 'upgrade']);
  });

  it('gives the others a life-time to come back when the database was away', async () => {
    await heartbeat.start();
    await clock.advance(40_000);
    away = true;
    await clock.advance(60_000);
    away = false;
    said = [];
    await clock.advance(39_999);
    expect(said).toContain('beat {"m":2}');
    expect(said).not.toContain('reap -30000');
    await clock.advance(1);
    expect(said.slice(-2)).toEqual(['reap -30000', 'upgrade']);
  });

  it('does not start without a first beat', async () => {
    away = true;
    await expect(heartbeat.start()).rejects.toThrow('away');
    away = false;
    await clock.advance(60_000);
    expect(said).toEqual([]);
  });

  it('beats every ten seconds', async () => {
    await heartbeat.start();
    said = [];
    await clock.advance(9_999);
    expect(said).toEqual([]);
    await clock.advance(1);
    expect(said[0]).toBe('beat {"m":2}');
    await clock.advance(20_000);
    expect(said.filter((each) => each.startsWith('beat'))).toHaveLength(3);
  });

  it('survives failed beats: it stops sending after 25 seconds, and continues with the leases left', async () => {
    await heartbeat.start();
    said = [];
    away = true;
    await clock.advance(24_999);
    expect(heartbeat.holds()).toBe(true);
    await clock.advance(1);
    expect([said, heartbeat.holds()]).toEqual([[], false]);
    const askedAt = clock.monotonic();
    away = false;
    await clock.advance(10_000);
    expect(said.slice(0, 3)).toEqual(['beat {"m":2}', 'leases', 'left 7']);
    // Requests made before arrive too late to be read.
    expect([heartbeat.holds(), heartbeat.holds(askedAt)]).toEqual([true, false]);
    expect(heartbeat.holds(clock.monotonic())).toBe(true);
  });

  it('warns of an outage of the database, or of a suspension of this process', async () => {
    await heartbeat.start();
    away = true;
    await clock.advance(40_000);
    away = false;
    await clock.advance(10_000);
    clock.stall(60_000);
    await clock.advance(10_000);
    // The next suspension is during the wait for the answer.
    let answer: () => void = () => {};
    hangs = new Promise((resolve) => (answer = resolve));
    await clock.advance(10_000);
    clock.stall(60_000);
    await clock.advance(0);
    answer();
    hangs = null;
    await clock.advance(10_000);
    away = true;
    await clock.advance(40_000);
    away = false;
    await clock.advance(10_000);
    expect(warned.map((message) => message.slice(0, 24))).toEqual([
      'the database is back; th',
      'this process was suspend',
      // An answer that came too late is not believed: the next beat asks once more.
      'this process was suspend',
      'this process was suspend',
      'the database is back; th',
    ]);
  });

  it('has time for another beat when the database gave one up', async () => {
    await heartbeat.start();
    await clock.advance(10_000);
    said = [];
    let giveUp: () => void = () => {};
    hangs = new Promise((_, reject) => (giveUp = () => reject(new Error('no answer in time'))));
    await clock.advance(18_000);
    giveUp();
    hangs = null;
    await clock.advance(6_999);
    expect(said[0]).toBe('beat {"m":2}');
    expect(said).not.toContain('leases');
  });

  it('holds nothing while a beat hangs, and believes no answer that comes too late', async () => {
    await heartbeat.start();
    said = [];
    let answer: () => void = () => {};
    hangs = new Promise((resolve) => (answer = resolve));
    await clock.advance(25_000);
    expect([said, heartbeat.holds()]).toEqual([[], false]);
    await clock.advance(60_000);
    answer();
    hangs = null;
    await clock.advance(0);
    expect([said.includes('beat {"m":2}'), heartbeat.holds()]).toEqual([true, false]);
    await clock.advance(1_000);
    expect(heartbeat.holds()).toBe(true);
  });

  it('beats although a claim hangs', async () => {
    await heartbeat.start();
    said = [];
    claiming = new Promise(() => {});
    await clock.advance(60_000);
    expect(said.filter((each) => each.startsWith('beat'))).toHaveLength(6);
    expect(heartbeat.holds()).toBe(true);
  });

  it.each([
    ['before time goes on', 90_000_000, 'move 90000000 at 10000'],
    ['after time went back', -90_000_000, 'move -90000000 at -89990000'],
  ])('moves the windows %s', async (_, by, moved) => {
    await heartbeat.start();
    said = [];
    began = time.now();
    clock.jump(by);
    await clock.advance(10_000);
    expect(said.slice(0, 2)).toEqual(['beat {"m":2}', moved]);
    expect(time.now()).toBe(began + 10_000 + by);
    await clock.advance(60_000);
    expect(said.filter((each) => each.startsWith('move'))).toHaveLength(1);
  });

  it.each([90_000_000, -90_000_000])('moves the windows by %i once where it failed at first', async (by) => {
    await heartbeat.start();
    began = time.now();
    said = [];
    clock.jump(by);
    immovable = true;
    await clock.advance(10_000);
    immovable = false;
    await clock.advance(60_000);
    expect(said.filter((each) => each.startsWith('move'))).toHaveLength(1);
    expect(time.now()).toBe(began + 70_000 + by);
  });

  it('stops', async () => {
    await heartbeat.start();
    await heartbeat.stop();
    said = [];
    await clock.advance(60_000);
    expect(said).toEqual([]);
  });
});
