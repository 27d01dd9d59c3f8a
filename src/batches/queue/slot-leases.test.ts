import { beforeEach, describe, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '../../../test/support/manual-clock.ts';
import { silent } from '../../base/log.ts';
import type { Catalog } from '../../core/model.ts';
import type { DiscoveredSlots, SlotLeaseRequest } from '../../core/slot-leases.ts';
import { StoreTime } from '../../base/store-time.ts';
import type { WaitingCause } from '../../core/waiting.ts';
import { SlotLeases } from './slot-leases.ts';

describe('SlotLeases', () => {
  let clock: ManualClock;
  let shared: string[];
  let unsent: number;
  let inFlight: number;
  let asked: SlotLeaseRequest[];
  let grant: () => number;
  let isOwed: boolean;
  let isWanted: boolean;
  let leased: (number | null)[];
  let isDatabaseDown: boolean;
  let answer: Promise<void>;
  let limit: number;
  let found: DiscoveredSlots | undefined;
  let before: DiscoveredSlots | undefined;
  let begins: (DiscoveredSlots | undefined)[];
  let waiting: WaitingCause | null;
  let yieldsTo: number | null;
  let slots: SlotLeases;

  beforeEach(() => {
    clock = createManualClock();
    shared = ['m'];
    unsent = 20;
    inFlight = 0;
    asked = [];
    grant = () => 20;
    isOwed = false;
    isWanted = false;
    leased = [];
    isDatabaseDown = false;
    answer = Promise.resolve();
    limit = 64;
    found = undefined;
    before = undefined;
    begins = [];
    waiting = null;
    yieldsTo = null;
    slots = new SlotLeases({
      store: {
        workers: {
          leaseSlots: async (_worker, asks) => {
            asked.push(...Object.values(asks));
            await answer;
            if (isDatabaseDown) throw new Error('the database is away');
            return Object.fromEntries(
              Object.keys(asks).map((model) => [
                model,
                {
                  lines: grant(),
                  others: 0,
                  discovered: null,
                  isOwed,
                  isWanted,
                  ...(before && { lastDiscovered: before }),
                },
              ]),
            );
          },
        },
      },
      catalog: { list: () => [{ id: 'm' }] } as unknown as Catalog,
      capacity: {
        sharedModels: () => new Set(shared),
        discoveredSlots: () => found,
        openBreakers: () => undefined,
        lease: (_model, share) => {
          leased.push(share && share.lines);
          begins.push(share?.lastDiscovered);
        },
        waiting: () => waiting,
        yieldsTo: () => yieldsTo,
      },
      limit: () => limit,
      chunks: { unsent: () => unsent, inFlight: () => inFlight },
      worker: 'me',
      clock,
      time: new StoreTime(clock),
      log: silent,
      onRoom: () => {
        const more = Math.min(unsent, Math.max(0, (leased.at(-1) ?? 0) - inFlight));
        unsent -= more;
        inFlight += more;
      },
    });
  });

  const after = async (ms: number) => {
    await clock.advance(ms);
    return asked.length;
  };

  it('requests slots at once for new work, and renews them each second', async () => {
    slots.requestIfDue();
    expect(await after(0)).toBe(1);
    expect([inFlight, leased]).toEqual([20, [20]]);
    expect(await after(999)).toBe(1);
    expect(await after(1)).toBe(2);
    inFlight = 0;
    expect(await after(1_000)).toBe(3);
    expect(asked.at(-1)).toEqual({ limit: 64, wants: 0, inFlight: 0 });
    expect(await after(60_000)).toBe(3);
    unsent = 5;
    slots.requestIfDue();
    expect(await after(0)).toBe(4);
  });

  it('announces interactive requests to which lines of other processes give way, and their end', async () => {
    [unsent, yieldsTo] = [0, 0];
    slots.requestIfDue();
    expect(await after(60_000)).toBe(0);
    yieldsTo = 2;
    slots.requestIfDue();
    expect(await after(50)).toBe(1);
    expect(asked.at(-1)).toEqual({ limit: 64, wants: 0, inFlight: 0, interactive: 2 });
    expect(await after(1_000)).toBe(2);
    yieldsTo = 0;
    expect(await after(1_000)).toBe(3);
    expect(asked.at(-1)).toEqual({ limit: 64, wants: 0, inFlight: 0 });
    expect(await after(60_000)).toBe(3);
  });

  it('asks more often where lines have to give way to requests of other processes', async () => {
    yieldsTo = 0;
    slots.requestIfDue();
    expect(await after(0)).toBe(1);
    expect(await after(1_000)).toBe(5);
  });

  it('loads discovered slots at the start, and saves those of models without peers', async () => {
    shared = [];
    found = { gpu: 8 };
    before = { gpu: 70 };
    slots.requestIfDue();
    expect(await after(0)).toBe(1);
    expect([asked.at(-1), begins]).toEqual([{ limit: 64, wants: 0, inFlight: 0 }, [before, undefined]]);
    found = { gpu: 72 };
    slots.requestIfDue();
    expect(await after(14_000)).toBe(1);
    expect(await after(1_000)).toBe(2);
    expect(asked.at(-1)).toEqual({ limit: 64, wants: 0, inFlight: 0, discovered: found });
    [unsent, inFlight] = [0, 0];
    expect(await after(60_000)).toBe(2);
  });

  it('reads them before it writes its own, also where the first try fails', async () => {
    shared = [];
    found = { gpu: 8 };
    before = { gpu: 70 };
    isDatabaseDown = true;
    slots.requestIfDue();
    await after(14_000);
    isDatabaseDown = false;
    found = { gpu: 9 };
    await after(1_000);
    expect([asked.map((ask) => ask.discovered), begins]).toEqual([
      [undefined, undefined],
      [before, undefined],
    ]);
  });

  it('exchanges open breakers while its lines wait', async () => {
    waiting = { scope: 'replica', code: 'upstream_unreachable', message: 'Nobody there.', since: 0 };
    grant = () => 0;
    slots.requestIfDue();
    expect(await after(0)).toBe(1);
    expect(await after(3_000)).toBe(4);
    expect(asked.at(-1)).toEqual({ limit: 64, wants: 0, inFlight: 0 });
  });

  it('requests more than its share four times a second', async () => {
    grant = () => 8;
    slots.requestIfDue();
    expect(await after(0)).toBe(1);
    expect(await after(1_000)).toBe(5);
  });

  it('requests slots that peers still have to return ten times a second', async () => {
    grant = () => 8;
    isOwed = true;
    slots.requestIfDue();
    await after(0);
    expect(await after(1_000)).toBe(11);
  });

  it('requests additional slots soon, and soon returns slots that peers want', async () => {
    slots.requestIfDue();
    await after(0);
    unsent = 20;
    slots.requestIfDue();
    expect(await after(49)).toBe(1);
    grant = () => 8;
    isWanted = true;
    expect(await after(1)).toBe(2);
    expect(asked.at(-1)).toMatchObject({ wants: 40, inFlight: 20 });
    inFlight = 10;
    slots.requestIfDue();
    expect(await after(50)).toBe(3);
    expect(asked.at(-1)).toMatchObject({ wants: 30, inFlight: 10 });
    expect(await after(249)).toBe(3);
  });

  it('lets nothing be sent before the first answer, unless there is none', async () => {
    expect(slots.awaitsFirstLease('m')).toBe(true);
    isDatabaseDown = true;
    slots.requestIfDue();
    await after(0);
    expect(slots.awaitsFirstLease('m')).toBe(false);
    isDatabaseDown = false;
    await after(250);
    expect([slots.awaitsFirstLease('m'), leased]).toEqual([false, [20]]);
    [unsent, inFlight] = [0, 0];
    await after(1_000);
    unsent = 5;
    expect(slots.awaitsFirstLease('m')).toBe(true);
    shared = [];
    expect(slots.awaitsFirstLease('m')).toBe(false);
  });

  it('sends no requests without peers or without work', async () => {
    shared = [];
    slots.requestIfDue();
    expect(await after(10_000)).toBe(0);
    shared = ['m'];
    unsent = 0;
    slots.requestIfDue();
    expect(await after(10_000)).toBe(0);
    unsent = 5;
    limit = 0;
    slots.requestIfDue();
    expect(await after(10_000)).toBe(0);
  });

  it('keeps its slots during a database outage until they lapse', async () => {
    slots.requestIfDue();
    await after(0);
    isDatabaseDown = true;
    await after(2_999);
    expect(leased).toEqual([20]);
    await after(1_000);
    expect(leased.at(-1)).toBeNull();
    const tries = asked.length;
    expect(await after(1_000)).toBe(tries + 4);
    isDatabaseDown = false;
    await after(250);
    expect(leased.at(-1)).toBe(20);
  });

  it('has nothing once that has run out while the database is silent, and takes no answer that comes too late', async () => {
    slots.requestIfDue();
    await after(0);
    const { promise, resolve } = Promise.withResolvers<void>();
    answer = promise;
    await after(2_999);
    expect([asked.length, leased]).toEqual([2, [20]]);
    await after(1);
    expect(leased).toEqual([20, null]);
    await after(1_000);
    answer = new Promise(() => {});
    resolve();
    await after(0);
    expect([asked.length, leased.at(-1)]).toEqual([3, null]);
  });
});
