import { describe, expect, test } from 'vitest';
import type { DutyClaim } from '../../../src/store/contract/duties.ts';
import type { Stores } from '../conformance.ts';
import { addBatch, claimOf, lease, makeChunks, range, start } from '../fixtures.ts';

export function workerTests(on: Stores): void {
  const idle = { interactive: {} };
  const claim = async (worker: string, batchId: string, count = 1) =>
    (await claimOf(on.store, worker, batchId, { count })).map(lease);

  describe('workers', () => {
    test('get the time and the load of their peers', async () => {
      const first = await on.store.workers.beat('w1', { interactive: { m1: 3 } });
      expect(first.others).toEqual([]);
      const second = await on.other.workers.beat('w2', idle);
      expect(second.others).toEqual([{ interactive: { m1: 3 } }]);
      expect(second.now).toBeGreaterThanOrEqual(first.now);
      expect(Number.isInteger(first.now)).toBe(true);
      await on.store.workers.beat('w1', { interactive: { m1: 5, m2: 1 } });
      expect((await on.other.workers.beat('w2', idle)).others).toEqual([{ interactive: { m1: 5, m2: 1 } }]);
      expect((await on.store.workers.beat('w1', idle)).others).toEqual([idle]);
    });

    test('report the models they serve; models of chunks that no process serves are listed with a time', async () => {
      const minute = 60_000;
      const batch = await addBatch(on.store, {}, (each) =>
        makeChunks(each).map((chunk) => ({ ...chunk, model: `m${chunk.seq}` })),
      );
      const { now } = await on.store.workers.beat('w1', { interactive: {}, serves: ['m1', 'alias'] });
      const missing = (after: number) => on.other.workers.missingModels(now + after);
      expect(await missing(0)).toEqual([{ model: 'm2', since: now }]);
      expect(await missing(4 * minute)).toEqual([
        { model: 'm1', since: now + 4 * minute },
        { model: 'm2', since: now },
      ]);
      await on.other.workers.beat('w2', { interactive: {}, serves: ['m2'] });
      expect(await missing(0)).toEqual([]);
      await on.other.workers.leave('w2');
      expect(await missing(1)).toEqual([{ model: 'm2', since: now + 1 }]);
      expect(await missing(7 * minute)).toMatchObject([{}, { model: 'm2', since: now + 7 * minute }]);
      await claimOf(on.store, 'w', batch.id, { model: 'm2' });
      expect(await missing(0)).toEqual([]);
      await on.other.workers.beat('older', idle);
      expect(await missing(0)).toEqual([]);
    });

    test('are listed with what they hold', async () => {
      const batch = await addBatch(on.store);
      const { now } = await on.store.workers.beat('w1', { interactive: { m1: 3 } });
      await on.other.workers.beat('w2', idle);
      await claim('w1', batch.id, 2);
      const ask = { m1: { limit: 20, wants: 5, inFlight: 0 } };
      await on.store.workers.leaseSlots('w2', ask, now);
      const listed = await on.other.workers.list();
      expect(listed).toMatchObject([
        { id: 'w1', load: { interactive: { m1: 3 } }, chunks: 2, slots: [] },
        { id: 'w2', chunks: 0, lines: 0, slots: [{ model: 'm1', slots: 5, until: now + 3_000 }] },
      ]);
      expect(listed[0]!.lines).toBeGreaterThanOrEqual(2);
      expect(listed[0]!.beatAt).toBe(now);
    });

    test('lease slots from each other, never more at one moment than exist', async () => {
      const ask = (wants: number, inFlight = 0) => ({ m1: { limit: 20, wants, inFlight } });
      const workers = range(0, 8).map((i) => [`w${i}`, i % 2 === 0 ? on.store : on.other] as const);
      const renew = () =>
        Promise.all(
          workers.map(
            async ([id, { workers: store }]) => (await store.leaseSlots(id, ask(5), start)).m1!.lines,
          ),
        );
      expect((await renew()).reduce((sum, n) => sum + n)).toBe(20);
      await renew();
      expect((await renew()).toSorted((a, b) => a - b)).toEqual([2, 2, 2, 2, 3, 3, 3, 3]);
      expect(await on.store.workers.leaseSlots('late', ask(5), start + 60_000)).toEqual({
        m1: { lines: 5, others: 0, discovered: null, isOwed: false, isWanted: false },
      });
      expect(await on.store.workers.leaseSlots('late', {}, start)).toEqual({});
    });

    test('list their leases, and may release them', async () => {
      const batch = await addBatch(on.store, { total: 16 });
      const leases = await claim('w', batch.id, 3);
      const foreign = await claim('v', batch.id);
      expect((await on.store.workers.leases('w')).toSorted((a, b) => a.seq - b.seq)).toEqual(leases);
      expect(await on.store.workers.leases('v')).toEqual(foreign);
      expect(await on.store.workers.leases('u')).toEqual([]);
      expect(await on.store.batches.release('w', [leases[1]!, foreign[0]!])).toBe(1);
      expect(await claim('u', batch.id, 9)).toEqual([{ ...leases[1]!, epoch: 2 }]);
      expect(await on.store.batches.release('w', leases)).toBe(2);
      expect(await on.store.workers.leases('w')).toEqual([]);
    });

    test('that are dead lose their chunks, which count no kill for models that run without them', async () => {
      const batch = await addBatch(on.store, { total: 4 });
      const { now } = await on.store.workers.beat('alive', idle);
      const [chunk] = await claimOf(on.store, 'dead', batch.id, { count: 1 });
      expect(await on.store.workers.reap(now, ['other', chunk!.model])).toBe(1);
      expect(await claimOf(on.store, 'v', batch.id, { count: 9 })).toMatchObject([{ epoch: 2, kills: 0 }]);
    });

    test('that are dead lose their chunks, which count a kill; living ones keep theirs', async () => {
      const batch = await addBatch(on.store, { total: 12 });
      const { now } = await on.store.workers.beat('alive', idle);
      const kept = await claim('alive', batch.id);
      await claim('unheard', batch.id);
      expect(await on.store.workers.reap(now)).toBe(1);
      expect(await on.store.workers.reap(now)).toBe(0);
      const [again] = await claimOf(on.store, 'alive', batch.id, { count: 2 });
      expect(again).toMatchObject({ seq: 2, epoch: 2, kills: 1 });
      expect(await on.store.workers.reap(now + 1)).toBe(3);
      expect(
        (await claimOf(on.store, 'v', batch.id, { count: 9 })).map(({ seq, kills }) => [seq, kills]),
      ).toEqual([
        [1, 1],
        [2, 2],
        [3, 1],
      ]);
      expect(await on.store.batches.release('alive', kept)).toBe(0);
    });

    test('that are dead leave chunks that are claimed last, the ones with most kills at the very end', async () => {
      const batch = await addBatch(on.store, { total: 12 });
      const one = async (worker: string) =>
        (await claimOf(on.store, worker, batch.id)).map(({ seq, kills }) => [seq, kills]);
      const die = (now: number) => on.store.workers.reap(now + 60_000);
      const { now } = await on.store.workers.beat('w', idle);
      expect(await one('w')).toEqual([[1, 0]]);
      await die(now);
      expect(await one('w')).toEqual([[2, 0]]);
      await die(now);
      expect(await one('w')).toEqual([[3, 0]]);
      expect(await one('w')).toEqual([[1, 1]]);
      await die(now);
      expect(
        await claimOf(on.store, 'v', batch.id, {
          count: 9,
          suspects: { minKills: 1, max: 0, mayTakeAlone: false },
        }),
      ).toEqual([]);
      expect(await one('v')).toEqual([[2, 1]]);
      expect(await one('v')).toEqual([[3, 1]]);
      expect(await one('v')).toEqual([[1, 2]]);
    });

    test('that were declared dead are forgotten, and may return', async () => {
      const { now } = await on.store.workers.beat('w1', { interactive: { m1: 1 } });
      await on.store.workers.reap(now + 60_000);
      expect((await on.store.workers.beat('w2', idle)).others).toEqual([]);
      await on.store.workers.beat('w1', idle);
      expect((await on.store.workers.beat('w2', idle)).others).toEqual([idle]);
    });

    test('that leave release everything without a kill', async () => {
      const batch = await addBatch(on.store);
      await on.store.workers.beat('w', idle);
      await claim('w', batch.id, 2);
      await on.store.workers.leave('w');
      expect((await on.store.workers.beat('v', idle)).others).toEqual([]);
      expect((await claimOf(on.store, 'v', batch.id, { count: 9 })).map(({ kills }) => kills)).toEqual([
        0, 0,
      ]);
      await on.store.workers.leave('unknown');
    });

    test('are all forgotten by a database that only one process opens', async () => {
      const batch = await addBatch(on.store);
      const { now } = await on.store.workers.beat('w', idle);
      await claim('w', batch.id, 2);
      await on.store.workers.clear();
      expect(await on.store.workers.reap(now - 1_000_000)).toBe(2);
    });

    test('claim, record, beat and reap concurrently without losing a chunk', async () => {
      const batch = await addBatch(on.store, { total: 80 });
      const done = new Set<number>();
      const work = async (worker: string, store = on.store) => {
        for (;;) {
          await store.workers.beat(worker, idle);
          const chunks = await claimOf(store, worker, batch.id);
          if (chunks.length === 0) return;
          if (!done.has(chunks[0]!.seq)) done.add(chunks[0]!.seq);
          else throw new Error(`Chunk ${chunks[0]!.seq} was given out twice.`);
          await store.results.record(worker, [], chunks.map(lease), start);
          await store.workers.reap(0);
        }
      };
      await Promise.all([work('a'), work('b', on.other), work('c'), work('d', on.other)]);
      expect(done.size).toBe(20);
    });
  });

  describe('the duties', () => {
    const wish = (more: Partial<DutyClaim> = {}): DutyClaim => ({
      lifeMs: 60_000,
      mayTake: true,
      atRisk: [],
      ...more,
    });

    test('are held by one process, until it returns them or its lease lapses', async () => {
      const { duties } = on.store;
      expect(await duties.hold('w1', wish({ atRisk: ['m1'] }))).toEqual({ isHolder: true, atRisk: ['m1'] });
      expect(await on.other.duties.hold('w2', wish())).toEqual({ isHolder: false, atRisk: ['m1'] });
      expect(await duties.hold('w1', wish({ atRisk: ['m2'] }))).toEqual({ isHolder: true, atRisk: ['m2'] });
      expect(await duties.hold('w3', wish({ mayTake: false }))).toEqual({ isHolder: false, atRisk: ['m2'] });
      expect(await duties.hold('w1', wish({ mayTake: false }))).toEqual({ isHolder: false, atRisk: [] });
      expect(await on.other.duties.hold('w2', wish({ lifeMs: -1 }))).toEqual({
        isHolder: false,
        atRisk: [],
      });
      expect((await duties.hold('w1', wish())).isHolder).toBe(true);
    });
  });
}
