import { describe, expect, test } from 'vitest';
import { historyLimits } from '../../../src/core/batch-history.ts';
import type { StoredHistory } from '../../../src/store/contract/histories.ts';
import type { Stores } from '../conformance.ts';
import { addBatch, claimOf, closeBatch, failure, output, start } from '../fixtures.ts';

export function watchingTests(on: Stores): void {
  describe('what changes of batches', () => {
    test('is listed of the unfinished ones, page by page', async () => {
      const batches = [await addBatch(on.store), await addBatch(on.store, { orgId: 'org_b' })];
      const ended = await addBatch(on.store);
      await on.store.batches.cancel('org_a', ended.id, start, 0);
      expect((await on.other.batches.listChanging(9)).map(({ id }) => id)).toContain(ended.id);
      await closeBatch(on.store, ended.id);
      await claimOf(on.store, 'w', batches[0]!.id);
      await on.store.results.record('w', [output(batches[0]!, 0)], [], start);
      const rows = await on.other.batches.listChanging(9);
      expect(rows.map(({ id, status, ok }) => [id, status, ok])).toEqual([
        [batches[0]!.id, 'in_progress', 1],
        [batches[1]!.id, 'validating', 0],
      ]);
      expect(await on.store.batches.find(batches[0]!.id)).toMatchObject({ ...rows[0] });
      expect(await on.other.batches.listChanging(1)).toEqual([rows[0]]);
      expect(await on.other.batches.listChanging(9, rows[0]!.id)).toEqual([rows[1]]);
      const running = rows.filter(({ status, closing }) => status === 'in_progress' && closing === null);
      expect(await on.other.batches.listChanging(9, undefined, 'running')).toEqual(running);
      expect((await on.other.batches.listRunning(9)).map(({ id }) => id)).toEqual(
        running.map(({ id }) => id),
      );
      const found = await on.other.batches.findMany([batches[1]!.id, 'batch_unknown', ended.id]);
      expect(found.map(({ id }) => id).toSorted()).toEqual([batches[1]!.id, ended.id].toSorted());
      expect(await on.other.batches.findMany([])).toEqual([]);
    });

    test('tells of new batches and groups, newest first', async () => {
      const at = (ms: number) => addBatch(on.store, { createdAt: start + ms });
      const batches = [await at(0), await at(20), await at(10), await at(30)];
      const ids = [3, 1, 2].map((n) => batches[n]!.id);
      expect(await on.other.batches.createdSince(start + 10, 9)).toEqual(ids);
      expect(await on.other.batches.createdSince(start + 10, 2)).toEqual(ids.slice(0, 2));
      expect(await on.other.batches.createdSince(start + 31, 9)).toEqual([]);
    });

    test('snapshots of several batches are those of each', async () => {
      const batches = [
        await addBatch(on.store, { total: 12 }),
        await addBatch(on.store),
        await addBatch(on.store),
      ];
      await claimOf(on.store, 'w', batches[0]!.id, { count: 2 });
      await claimOf(on.store, 'w', batches[1]!.id);
      const results = [output(batches[0]!, 0), failure(batches[0]!, 1), output(batches[1]!, 2)];
      await on.store.results.record('w', results, [], start);
      const snapshots = await on.other.batches.snapshots([...batches.map(({ id }) => id), 'batch_unknown']);
      expect(snapshots.map(({ running }) => running).toSorted((a, b) => a - b)).toEqual([0, 3, 6]);
      for (const snapshot of snapshots)
        expect(snapshot).toEqual(await on.store.batches.snapshot(snapshot.batch.id));
      expect(await on.other.batches.snapshots([])).toEqual([]);
    });

    test('tells of the batches that were removed lately, to all processes', async () => {
      const removeAt = async (now: number) => {
        const { id } = await addBatch(on.store);
        await on.store.batches.cancel('org_a', id, start, 0);
        await closeBatch(on.store, id);
        await on.store.results.purge(id, 1_000);
        expect(await on.store.batches.remove('org_a', id, now)).toBe(true);
        return { id, orgId: 'org_a' };
      };
      const first = await removeAt(start);
      const second = await removeAt(start + 600_000);
      expect(await on.other.batches.removedSince(start)).toEqual([first, second]);
      expect(await on.other.batches.removedSince(start + 1)).toEqual([second]);
      const third = await removeAt(start + 600_001);
      expect(await on.other.batches.removedSince(0)).toEqual([second, third]);
    });

    test('names the batches in work at other processes', async () => {
      const batches = [await addBatch(on.store), await addBatch(on.store)];
      await claimOf(on.store, 'w2', batches[0]!.id, { count: 2 });
      await claimOf(on.store, 'w1', batches[1]!.id);
      expect(await on.store.batches.elsewhere('w1')).toEqual([batches[0]!.id]);
      expect(await on.other.batches.elsewhere('w2')).toEqual([batches[1]!.id]);
      await on.store.workers.leave('w1');
      expect(await on.other.batches.elsewhere('w2')).toEqual([]);
    });
  });

  describe('histories of batches', () => {
    const history = (
      batchId: string,
      updatedAt: number,
      points: StoredHistory['points'] = [],
    ): StoredHistory => ({
      batchId,
      updatedAt,
      intervalMs: historyLimits.intervalMs,
      points,
      waits: [{ reason: 'paused', message: 'Zürich \u{1f600}', since: 1, until: null }],
      omittedWaits: 2,
    });

    test('are replaced, but not by older ones', async () => {
      await on.store.histories.put([history('batch_a', 5, [[1, 2, 3, 4, 5]]), history('batch_b', 5)]);
      await on.store.histories.put([]);
      expect(await on.other.histories.get(['batch_a', 'batch_x'])).toEqual([
        history('batch_a', 5, [[1, 2, 3, 4, 5]]),
      ]);
      await on.other.histories.put([history('batch_b', 6, [[9, 9, 9, 9, 9]]), history('batch_a', 4)]);
      const found = await on.store.histories.get(['batch_a', 'batch_b']);
      expect(Object.fromEntries(found.map(({ batchId, points }) => [batchId, points]))).toEqual({
        batch_a: [[1, 2, 3, 4, 5]],
        batch_b: [[9, 9, 9, 9, 9]],
      });
    });

    test('are removed with their batch', async () => {
      const batch = await addBatch(on.store);
      await on.store.batches.cancel('org_a', batch.id, start, 0);
      await closeBatch(on.store, batch.id);
      await on.store.results.purge(batch.id, 1_000);
      await on.store.histories.put([history(batch.id, 1)]);
      expect(await on.store.batches.remove('org_a', batch.id, start)).toBe(true);
      expect(await on.store.histories.get([batch.id])).toEqual([]);
    });
  });
}
