import { describe, expect, test } from 'vitest';
import type { BatchPause, PauseScope } from '../../../src/core/controls.ts';
import type { Stores } from '../conformance.ts';
import { addBatch, makeChunks, start } from '../fixtures.ts';

/** Pauses and drains of operators. */
export function controlTests(on: Stores): void {
  const pause = (scope: Partial<PauseScope> = {}, since = start): BatchPause => ({
    model: null,
    orgId: null,
    since,
    keyId: 'key_admin',
    ...scope,
  });
  const drain = (id: string, since = start) => ({
    id,
    model: 'm1',
    server: `http://${id}`,
    since,
    keyId: 'k',
  });

  describe('pauses', () => {
    test('are those of all processes, oldest first, and one of a scope is kept as it is', async () => {
      expect(await on.store.controls.pause(pause({ model: 'm1' }, start + 1))).toBe(true);
      expect(await on.other.controls.pause(pause())).toBe(true);
      expect(await on.other.controls.pause(pause({ model: 'm1' }, start + 9))).toBe(false);
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
      const left = async (scope: Partial<PauseScope>) => {
        for (const each of all) await on.store.controls.pause(each);
        const ended = await on.store.controls.resume({ model: null, orgId: null, ...scope });
        const { pauses } = await on.store.controls.read();
        expect(new Set([...ended, ...pauses])).toEqual(new Set(all));
        expect(ended.length + pauses.length).toBe(all.length);
        return new Set(pauses);
      };
      expect(await left({ model: 'm1' })).toEqual(new Set([all[0], all[2], all[4]]));
      expect(await left({ orgId: 'org_a' })).toEqual(new Set([all[0], all[1], all[4]]));
      expect(await left({ model: 'm1', orgId: 'org_a' })).toEqual(new Set([all[0], all[1], all[2], all[4]]));
      expect(await left({})).toEqual(new Set());
    });

    test('keep the chunks of their model and org from every claim', async () => {
      const ofA = await addBatch(on.store, { orgId: 'org_a' });
      const ofB = await addBatch(on.store, { orgId: 'org_b' });
      const other = await addBatch(on.store, { orgId: 'org_a' }, (batch) => makeChunks(batch, 4, 'm2'));
      const suspects = { minKills: 2, max: 1, mayTakeAlone: true };
      const claimable = async () => {
        const wanted = [
          // Claimed under an alias too: a pause names the id.
          { model: 'm1', names: ['m1', 'alias'], lines: 99, chunks: 0, claimedDue: {} },
          { model: 'm2', names: ['m2'], lines: 99, chunks: 0, claimedDue: {} },
        ];
        const { chunks } = await on.other.batches.claim('w', wanted, { now: start, suspects });
        await on.other.batches.release('w', chunks);
        return new Set(chunks.map(({ batchId }) => batchId));
      };
      const during = async (scope: Partial<PauseScope>) => {
        await on.store.controls.pause(pause(scope));
        const found = await claimable();
        await on.store.controls.resume({ model: null, orgId: null });
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
      expect(await on.store.controls.drain(drain('rep_2', start + 1))).toBe(true);
      expect(await on.other.controls.drain(drain('rep_1'))).toBe(true);
      expect(await on.other.controls.drain(drain('rep_2', start + 9))).toBe(false);
      expect((await on.store.controls.read()).drains).toEqual([drain('rep_1'), drain('rep_2', start + 1)]);
      expect(await on.store.controls.undrain('rep_1')).toEqual(drain('rep_1'));
      expect(await on.store.controls.undrain('rep_1')).toBeUndefined();
      expect((await on.other.controls.read()).drains).toEqual([drain('rep_2', start + 1)]);
    });
  });
}
