import { array, assert, integer, nat, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { leaseSlots, type SlotLease, slotLeaseMs } from './slot-leases.ts';

const now = 1_000_000;
const lease = (worker: string, slots: number, wants = slots): SlotLease => ({
  worker,
  slots,
  wants,
  until: now + 1,
});
const ask = (before: SlotLease[], wants: number, { limit = 64, inFlight = 0, at = now } = {}) =>
  leaseSlots(before, 'me', { limit, wants, inFlight }, at).share.lines;

describe('leaseSlots', () => {
  it('gives a single process all it wants, up to the limit', () => {
    expect(ask([], 20)).toBe(20);
    expect(ask([], 100)).toBe(64);
  });

  it('gives the free slots, and the fair share once the others have released it', () => {
    expect(ask([lease('a', 64)], 64)).toBe(0);
    expect(ask([lease('a', 40, 64)], 64)).toBe(24);
    expect(ask([lease('a', 20, 64)], 64)).toBe(32);
    expect(ask([lease('a', 10)], 64)).toBe(54);
  });

  it('takes slots back from a process above its share, without stopping requests in flight', () => {
    const { share, leases } = leaseSlots(
      [lease('a', 0, 64), lease('me', 64)],
      'me',
      { limit: 64, wants: 64, inFlight: 50 },
      now,
    );
    expect(share.lines).toBe(32);
    expect(leases).toEqual([
      lease('a', 0, 64),
      { worker: 'me', slots: 50, wants: 64, until: now + slotLeaseMs },
    ]);
  });

  it('reports a share that is owed, and slots that others want', () => {
    const told = (before: SlotLease[], wants: number) =>
      leaseSlots(before, 'me', { limit: 64, wants, inFlight: 0 }, now).share;
    expect(told([lease('a', 64)], 64)).toMatchObject({ isOwed: true, isWanted: false });
    expect(told([lease('a', 32, 64)], 64)).toMatchObject({ isOwed: false, isWanted: true });
    expect(told([lease('a', 5)], 9)).toMatchObject({ isOwed: false, isWanted: false });
  });

  it('drops leases that were not renewed, and those of idle processes', () => {
    expect(ask([{ ...lease('a', 64), until: now }], 64)).toBe(64);
    expect(leaseSlots([lease('me', 9)], 'me', { limit: 64, wants: 0, inFlight: 0 }, now).leases).toEqual([]);
  });

  it('passes on the interactive requests of the other processes, also of those without lines', () => {
    const request = { limit: 64, wants: 0, inFlight: 0, interactive: 3 };
    const { leases } = leaseSlots([], 'api', request, now);
    expect(leaseSlots(leases, 'me', { limit: 64, wants: 9, inFlight: 0 }, now).share.interactive).toBe(3);
    expect(
      leaseSlots(leases, 'me', { limit: 64, wants: 9, inFlight: 0 }, now + slotLeaseMs).share,
    ).not.toHaveProperty('interactive');
    expect(leaseSlots(leases, 'api', request, now).share).not.toHaveProperty('interactive');
  });

  it('rotates the slots among more processes than slots', () => {
    const others = ['a', 'b', 'n', 'z'].map((worker) => lease(worker, 0, 9));
    const turns = Array.from({ length: 20 }, (_, turn) =>
      ask(
        others.map((each) => ({ ...each, until: now * 9 })),
        9,
        { limit: 2, at: now + turn * 10_000 },
      ),
    );
    expect(turns.reduce((sum, allowed) => sum + allowed)).toBe(8);
  });

  it('has the oldest process with work discover the limits, and the others follow it', () => {
    const found = (limit: number) => ({ limit, slots: { gpu: limit } });
    const elder = { ...lease('a', 20, 64), found: found(40) };
    const younger = { ...lease('z', 4, 64), found: found(900) };
    const ours = { limit: 8, wants: 64, inFlight: 0, discovered: { gpu: 8 } };
    const follows = leaseSlots([younger, elder], 'me', ours, now);
    expect(follows.share).toMatchObject({ lines: 13, others: 24, discovered: { gpu: 40 } });
    expect(follows.leases.at(-1)).toMatchObject({ worker: 'me', slots: 13, found: found(8) });
    expect(leaseSlots([younger], 'me', ours, now).share).toMatchObject({
      lines: 4,
      others: 4,
      discovered: null,
    });
    expect(leaseSlots([{ ...elder, wants: 0 }], 'me', ours, now).share.discovered).toBeNull();
    expect(leaseSlots([elder], 'me', { limit: 64, wants: 64, inFlight: 0 }, now).share).toMatchObject({
      lines: 32,
      discovered: null,
    });
  });

  it('remembers the last discovered limits for processes that start later', () => {
    const alone = { limit: 64, wants: 0, inFlight: 0 };
    const { leases } = leaseSlots([], 'me', { ...alone, discovered: { gpu: 72 } }, now);
    const startAfter = (ms: number) => leaseSlots(leases, 'later', alone, now + ms).share.lastDiscovered;
    expect(startAfter(86_400_000)).toEqual({ gpu: 72 });
    expect(startAfter(86_400_001)).toEqual({ gpu: 36 });
    expect(startAfter(30 * 86_400_000)).toBeUndefined();
    const again = leaseSlots(leases, 'later', { ...alone, discovered: { gpu: 50 } }, now);
    expect(leaseSlots(again.leases, 'last', alone, now).share.lastDiscovered).toEqual({ gpu: 50 });
    expect(again.leases).toHaveLength(1);
  });

  it('shares open breakers with the peers, until they may close or the lease lapses', () => {
    const cause = { scope: 'replica', code: 'upstream_unreachable', message: 'Nobody.', since: 0 } as const;
    const idle = { limit: 64, wants: 0, inFlight: 0 };
    const { leases } = leaseSlots([], 'me', { ...idle, openBreakers: { gpu: { ms: 2_000, cause } } }, now);
    const heardAt = (at: number, by = 'other') => leaseSlots(leases, by, idle, at).share.openBreakers;
    expect(heardAt(now + 500)).toEqual({ gpu: { ms: 1_500, cause } });
    expect(heardAt(now + 500, 'me')).toBeUndefined();
    expect(heardAt(now + 2_000)).toBeUndefined();
    expect(leaseSlots(leases, 'me', idle, now).leases).toEqual([]);
  });

  it('never exceeds the limit, and uses all of it after two renewals of every process', () => {
    const process = record({ wants: nat(100), renewals: nat(4) });
    assert(
      property(
        integer({ min: 1, max: 200 }),
        array(process, { minLength: 1, maxLength: 12 }),
        (limit, all) => {
          let leases: SlotLease[] = [];
          const allowed = all.map(() => 0);
          const renew = (at: number, inFlight: number) => {
            const renewed = leaseSlots(leases, `w${at}`, { limit, wants: all[at]!.wants, inFlight }, now);
            leases = renewed.leases;
            allowed[at] = renewed.share.lines;
            expect(leases.reduce((sum, { slots }) => sum + slots, 0)).toBeLessThanOrEqual(limit);
          };
          for (const [at, { renewals }] of all.entries())
            for (let n = 0; n < renewals; n++) renew(at, allowed[at]!);
          for (let round = 0; round < 3; round++) for (const at of all.keys()) renew(at, 0);
          const wanted = all.reduce((sum, { wants }) => sum + wants, 0);
          expect(allowed.reduce((sum, n) => sum + n)).toBe(Math.min(limit, wanted));
        },
      ),
    );
  });
});
