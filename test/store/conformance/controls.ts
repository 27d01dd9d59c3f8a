import { describe, expect, test } from 'vitest';
import type { AuditStamp } from '../../../src/core/audit.ts';
import type { BatchPause, PauseScope, ReplicaDrain } from '../../../src/core/controls.ts';
import type { Stores } from '../conformance.ts';
import { addBatch, makeChunks, start } from '../fixtures.ts';

/** Pauses and drains of operators. */
export function controlTests(on: Stores): void {
  const by = (at = start, keyId = 'key_1'): AuditStamp => ({
    actor: { keyId, name: 'ops', address: null, requestId: null },
    at,
  });
  const scope = (of: Partial<PauseScope> = {}): PauseScope => ({ model: null, orgId: null, ...of });
  const pause = (of: Partial<PauseScope> = {}, since = start): BatchPause => ({
    ...scope(of),
    since,
    keyId: 'key_1',
  });
  const replica = (id: string) => ({ id, model: 'm1', server: `http://${id}` });
  const drain = (id: string, since = start): ReplicaDrain => ({ ...replica(id), since, keyId: 'key_1' });
  /** Entries of the audit log, oldest first. */
  const audited = async () => {
    const { entries } = await on.store.audit.list({ order: 'asc', limit: 99 });
    return entries.map(({ action, target, before, after }) => [action, target, before, after]);
  };

  describe('pauses', () => {
    test('are those of all processes, oldest first, and one of a scope is kept as it is', async () => {
      await on.store.controls.pause(scope({ model: 'm1' }), by(start + 1));
      await on.other.controls.pause(scope(), by());
      await on.other.controls.pause(scope({ model: 'm1' }), by(start + 9, 'key_2'));
      expect((await on.store.controls.read()).pauses).toEqual([pause(), pause({ model: 'm1' }, start + 1)]);
    });

    test('end with a resume of a scope around them', async () => {
      const all = [
        pause(),
        pause({ model: 'm1' }),
        pause({ orgId: 'org_a' }),
        pause({ model: 'm1', orgId: 'org_a' }),
        pause({ model: 'm2', orgId: 'org_b' }),
      ];
      const left = async (of: Partial<PauseScope>) => {
        for (const { model, orgId } of all) await on.store.controls.pause({ model, orgId }, by());
        await on.store.controls.resume(scope(of), by());
        return new Set((await on.other.controls.read()).pauses);
      };
      expect(await left({ model: 'm1' })).toEqual(new Set([all[0], all[2], all[4]]));
      expect(await left({ orgId: 'org_a' })).toEqual(new Set([all[0], all[1], all[4]]));
      expect(await left({ model: 'm1', orgId: 'org_a' })).toEqual(new Set([all[0], all[1], all[2], all[4]]));
      expect(await left({})).toEqual(new Set());
    });

    test('add entries to the audit log, unless nothing changes', async () => {
      const { controls } = on.store;
      await controls.resume(scope(), by());
      await controls.pause(scope({ orgId: 'org_a' }), by());
      await controls.pause(scope({ orgId: 'org_a' }), by());
      await controls.pause(scope({ model: 'm1', orgId: 'org_a' }), by(start + 1));
      await controls.pause(scope(), by(start + 2));
      await controls.resume(scope({ orgId: 'org_a' }), by());
      const ofA = { model: null, org_id: 'org_a' };
      const ofBoth = { model: 'm1', org_id: 'org_a' };
      const log = await audited();
      expect(log.slice(0, 3)).toEqual([
        ['batches.pause', 'org_a', null, ofA],
        ['batches.pause', 'org_a m1', null, ofBoth],
        ['batches.pause', 'all', null, { model: null, org_id: null }],
      ]);
      expect(new Set(log.slice(3))).toEqual(
        new Set([
          ['batches.resume', 'org_a', ofA, null],
          ['batches.resume', 'org_a m1', ofBoth, null],
        ]),
      );
    });

    test('keep the chunks of their model and org from every claim', async () => {
      const ofA = await addBatch(on.store, { orgId: 'org_a' });
      const ofB = await addBatch(on.store, { orgId: 'org_b' });
      const other = await addBatch(on.store, { orgId: 'org_a' }, (batch) => makeChunks(batch, 4, 'm2'));
      const suspects = { minKills: 2, max: 1, mayTakeAlone: true };
      const claimable = async () => {
        const wanted = [
          // Claimed under an alias too: a pause names the id.
          { model: 'm1', names: ['m1', 'alias'], lines: 99, chunks: 0, claimedDue: {}, moreOrgs: 0 },
          { model: 'm2', names: ['m2'], lines: 99, chunks: 0, claimedDue: {}, moreOrgs: 0 },
        ];
        const { chunks } = await on.other.batches.claim('w', wanted, { now: start, suspects });
        await on.other.batches.release('w', chunks);
        return new Set(chunks.map(({ batchId }) => batchId));
      };
      const during = async (of: Partial<PauseScope>) => {
        await on.store.controls.pause(scope(of), by());
        const found = await claimable();
        await on.store.controls.resume(scope(), by());
        return found;
      };
      expect(await during({})).toEqual(new Set());
      expect(await during({ model: 'm1' })).toEqual(new Set([other.id]));
      expect(await during({ orgId: 'org_a' })).toEqual(new Set([ofB.id]));
      expect(await during({ model: 'm1', orgId: 'org_a' })).toEqual(new Set([ofB.id, other.id]));
      expect(await during({ model: 'm2', orgId: 'org_b' })).toEqual(new Set([ofA.id, ofB.id, other.id]));
      expect(await claimable()).toEqual(new Set([ofA.id, ofB.id, other.id]));
    });
  });

  describe('drains', () => {
    test('are those of all processes, oldest first, and one of a replica is kept as it is', async () => {
      await on.store.controls.drain(replica('rep_2'), by(start + 1));
      await on.other.controls.drain(replica('rep_1'), by());
      await on.other.controls.drain(replica('rep_2'), by(start + 9, 'key_2'));
      expect((await on.store.controls.read()).drains).toEqual([drain('rep_1'), drain('rep_2', start + 1)]);
      await on.store.controls.undrain('rep_1', by());
      await on.store.controls.undrain('rep_1', by());
      expect((await on.other.controls.read()).drains).toEqual([drain('rep_2', start + 1)]);
      const of = (id: string) => ({ model: 'm1', server: `http://${id}` });
      expect(await audited()).toEqual([
        ['replica.drain', 'rep_2', null, of('rep_2')],
        ['replica.drain', 'rep_1', null, of('rep_1')],
        ['replica.undrain', 'rep_1', of('rep_1'), null],
      ]);
    });
  });

  describe('caps', () => {
    test('are those of all processes, oldest first, and a new number replaces one', async () => {
      const cap = (id: string, maxInFlight: number, since = start, keyId = 'key_1') => ({
        ...replica(id),
        maxInFlight,
        since,
        keyId,
      });
      await on.store.controls.cap({ ...replica('rep_2'), maxInFlight: 4 }, by(start + 1));
      await on.other.controls.cap({ ...replica('rep_1'), maxInFlight: 2 }, by());
      await on.other.controls.cap({ ...replica('rep_2'), maxInFlight: 4 }, by(start + 9, 'key_2'));
      expect((await on.store.controls.read()).caps).toEqual([cap('rep_1', 2), cap('rep_2', 4, start + 1)]);
      await on.store.controls.cap({ ...replica('rep_2'), maxInFlight: 1 }, by(start + 9, 'key_2'));
      await on.store.controls.uncap('rep_1', by());
      await on.store.controls.uncap('rep_1', by());
      expect((await on.other.controls.read()).caps).toEqual([cap('rep_2', 1, start + 9, 'key_2')]);
      const of = (id: string, most: number) => ({ model: 'm1', server: `http://${id}`, max_in_flight: most });
      expect(await audited()).toEqual([
        ['replica.cap', 'rep_2', null, of('rep_2', 4)],
        ['replica.cap', 'rep_1', null, of('rep_1', 2)],
        ['replica.cap', 'rep_2', of('rep_2', 4), of('rep_2', 1)],
        ['replica.uncap', 'rep_1', of('rep_1', 2), null],
      ]);
    });
  });
}
