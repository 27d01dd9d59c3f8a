import { describe, expect, test } from 'vitest';
import { asLate, dueAt, isLate } from '../../../src/core/urgency.ts';
import type { Batch, Chunk } from '../../../src/core/batch.ts';
import type { Stores } from '../conformance.ts';
import { addBatch, hour, lease, makeOrg, start } from '../fixtures.ts';

/** Priorities within an org, and weights of orgs. */
export function placeTests(on: Stores): void {
  const suspects = { minKills: 2, max: 1, mayTakeAlone: true };
  const claim = async (chunks = 1): Promise<Chunk[]> => {
    const wanted = [{ model: 'm1', names: ['m1'], lines: 0, chunks, claimedDue: {}, moreOrgs: 0 }];
    return (await on.store.batches.claim('w', wanted, { now: start, suspects })).chunks;
  };
  const add = (priority: number, fields: Partial<Batch> = {}) =>
    addBatch(on.store, { total: 8, priority, due: dueAt(start, priority), ...fields });
  /** Claims one chunk at a time and returns their batches. */
  const order = async (count: number): Promise<string[]> => {
    const found: string[] = [];
    for (let n = 0; n < count; n++) found.push(...(await claim()).map(({ batchId }) => batchId));
    return found;
  };

  describe('priorities', () => {
    test('order the batches of an org before their urgency', async () => {
      const usual = await add(5, { due: dueAt(start - 1_000, 5) });
      const low = await add(0);
      const high = await add(9, { due: dueAt(start + 1_000, 9) });
      expect((await on.store.batches.find(high.id))!.priority).toBe(9);
      expect(await order(6)).toEqual([high, high, usual, usual, low, low].map(({ id }) => id));
    });

    test('give an org nothing beyond its share', async () => {
      const mine = await add(0, { orgId: 'org_a', total: 16 });
      await add(9, { orgId: 'org_b', total: 16 });
      const claimed = await claim(4);
      expect(claimed.filter(({ batchId }) => batchId === mine.id)).toHaveLength(2);
    });

    test('change with the place in the queue, also of chunks that come back', async () => {
      const first = await add(5);
      const second = await add(5, { due: dueAt(start + 1, 5) });
      const [leased] = await claim();
      expect(leased!.batchId).toBe(first.id);
      expect(await on.store.batches.setPriority(second.id, 9)).toBe(true);
      expect(await on.store.batches.setPriority(first.id, 2)).toBe(true);
      await on.store.batches.release('w', [lease(leased!)]);
      const ids = await order(4);
      expect(ids).toEqual([second.id, second.id, first.id, first.id]);
      expect(await on.store.batches.find(first.id)).toMatchObject({ priority: 2, due: dueAt(start, 2) });
      expect(await on.store.batches.setPriority(first.id, 5)).toBe(true);
      expect(await on.store.batches.find(first.id)).toMatchObject({ priority: 5, due: start });
    });

    test('of a batch that is ending do not change', async () => {
      const batch = await add(5);
      await on.store.batches.cancel('org_a', batch.id, start, 0);
      expect(await on.store.batches.setPriority(batch.id, 9)).toBe(false);
      expect(await on.store.batches.setPriority('batch_unknown', 9)).toBe(false);
      expect(await on.store.batches.find(batch.id)).toMatchObject({ priority: 5, due: start });
    });

    test('give way to a batch in the last quarter of its window', async () => {
      const low = await add(0, { expiresAt: start + 4 * hour });
      const high = await add(9, { expiresAt: start + 8 * hour });
      const hurry = (now: number) => on.store.batches.hurry(now, 9);
      expect(await hurry(start + 3 * hour - 1)).toBe(0);
      expect(await hurry(start + 3 * hour)).toBe(1);
      expect(await hurry(start + 3 * hour)).toBe(0);
      // A new priority changes nothing about that.
      await on.store.batches.setPriority(low.id, 1);
      expect(await order(3)).toEqual([low.id, low.id, high.id]);
      expect(await on.store.batches.find(low.id)).toMatchObject({
        priority: 1,
        due: asLate(dueAt(start, 0)),
      });
    });

    test('give way to the batches that have been late for the longest, a few at a time', async () => {
      const batches: Batch[] = [];
      for (const hours of [9, 5, 7]) batches.push(await add(5, { expiresAt: start + hours * hour }));
      const late = async () => {
        const found = await Promise.all(batches.map(({ id }) => on.store.batches.find(id)));
        return found.map((batch) => isLate(batch!.due));
      };
      expect(await on.store.batches.hurry(start + 8 * hour, 2)).toBe(2);
      expect(await late()).toEqual([false, true, true]);
      await on.store.batches.cancel('org_a', batches[0]!.id, start, 0);
      expect(await on.store.batches.hurry(start + 8 * hour, 2)).toBe(0);
    });

    test('do not count for the order in which batches of several orgs are closed', async () => {
      const first = await add(0, { orgId: 'org_a' });
      const second = await add(9, { orgId: 'org_b', due: dueAt(start + 1, 9) });
      await on.store.batches.setPriority(second.id, 8);
      for (const { id, orgId } of [second, first]) await on.store.batches.cancel(orgId, id, start, 0);
      const { chunks } = await on.store.batches.claimClosings('w', 1);
      expect(chunks.map(({ batchId }) => batchId)).toEqual([first.id]);
    });

    test('count for the number of batches ahead', async () => {
      await on.store.orgs.insert(makeOrg({ id: 'org_a', weight: 3 }));
      const [low, high] = [await add(0), await add(9)];
      const place = (batch: Batch) => on.store.batches.queuePlace(batch, ['m1']);
      expect([await place(low), await place(high)]).toEqual([
        { ahead: 1, weight: 3 },
        { ahead: 0, weight: 3 },
      ]);
    });
  });

  describe('the weight of an org', () => {
    test('multiplies its share of the claims', async () => {
      await on.store.orgs.insert(makeOrg({ id: 'org_a', weight: 2 }));
      await on.store.orgs.insert(makeOrg({ id: 'org_b' }));
      const heavy = await add(5, { orgId: 'org_a', total: 400 });
      await add(5, { orgId: 'org_b', total: 400 });
      const claimed: Chunk[] = [];
      for (let n = 0; n < 10; n++) claimed.push(...(await claim(3)));
      expect(claimed.filter(({ batchId }) => batchId === heavy.id)).toHaveLength(20);
    });

    test('is known to the process that runs its lines', async () => {
      await on.store.orgs.insert(makeOrg({ id: 'org_a', weight: 2 }));
      await add(5);
      const wanted = [{ model: 'm1', names: ['m1'], lines: 0, chunks: 1, claimedDue: {}, moreOrgs: 0 }];
      const { batches } = await on.store.batches.claim('w', wanted, { now: start, suspects });
      expect(batches.map(({ weight }) => weight)).toEqual([2]);
    });
  });
}
