import { describe, expect, test } from 'vitest';
import { closeModel } from '../../../src/core/batch.ts';
import type { Stores } from '../conformance.ts';
import { addBatch, claimClosing, lease, makeChunks, output, range, start } from '../fixtures.ts';

/** Nobody serves any model here. */
const readyModels = async ({ store }: Stores) =>
  (await store.workers.missingModels(start)).map(({ model }) => model);

export function chunkTests(on: Stores): void {
  describe('candidates', () => {
    test('are batches with ready chunks of a model, the most urgent first', async () => {
      const late = await addBatch(on.store, { due: start + 2 });
      const early = await addBatch(on.store, { due: start + 1, orgId: 'org_b' });
      const mixed = await addBatch(on.store, { due: start + 3 }, (batch) =>
        makeChunks(batch).map((chunk) => ({ ...chunk, model: `m${chunk.seq}` })),
      );
      expect(await on.store.batches.candidates(['m2', 'm1', 'm3'], 10)).toEqual([
        { batchId: early.id, orgId: 'org_b', due: start + 1, status: 'validating', model: 'm1' },
        { batchId: late.id, orgId: 'org_a', due: start + 2, status: 'validating', model: 'm1' },
        { batchId: mixed.id, orgId: 'org_a', due: start + 3, status: 'validating', model: 'm1' },
        { batchId: mixed.id, orgId: 'org_a', due: start + 3, status: 'validating', model: 'm2' },
      ]);
      expect(await on.store.batches.candidates(['m2'], 10)).toHaveLength(1);
      expect(await on.store.batches.candidates(['m1'], 2)).toHaveLength(2);
      expect(await on.store.batches.candidates([], 10)).toEqual([]);
      expect(await readyModels(on)).toEqual(['m1', 'm2']);
    });

    test('are gone when all their chunks are leased or done', async () => {
      const batch = await addBatch(on.store);
      const chunks = await on.store.batches.claim('w', batch.id, 'm1', 2, start);
      expect(await on.store.batches.candidates(['m1'], 10)).toEqual([]);
      expect(await readyModels(on)).toEqual([]);
      await on.store.batches.release('w', [lease(chunks[0]!)]);
      expect(await on.store.batches.candidates(['m1'], 10)).toMatchObject([{ status: 'in_progress' }]);
      expect(await readyModels(on)).toEqual(['m1']);
    });

    test('for closing are batches whose end is decided, and only when asked for', async () => {
      const open = await addBatch(on.store, { due: start + 5 });
      const ending = await addBatch(on.store, { due: start + 9 });
      expect(await on.store.batches.candidates([closeModel], 10)).toEqual([]);
      await on.store.batches.cancel('org_a', ending.id, start, 0);
      const closing = {
        batchId: ending.id,
        orgId: 'org_a',
        due: start + 9,
        status: 'cancelling',
        model: closeModel,
      };
      expect(await on.store.batches.candidates([closeModel], 10)).toEqual([closing]);
      expect(await on.store.batches.candidates(['m1'], 10)).toMatchObject([{ batchId: open.id }]);
      expect(await on.store.batches.candidates(['m1', closeModel], 10)).toMatchObject([
        { batchId: open.id },
        closing,
      ]);
      expect(await on.store.batches.candidates([closeModel, 'm1'], 1)).toMatchObject([{ batchId: open.id }]);
      expect(await readyModels(on)).toEqual(['m1']);
      await claimClosing(on.store, 'w', ending.id);
      expect(await on.store.batches.candidates([closeModel], 10)).toEqual([]);
    });
  });

  describe('claiming', () => {
    test('leases the first ready chunks of the model and begins the batch', async () => {
      const batch = await addBatch(on.store, { total: 12 }, (made) =>
        makeChunks(made).map((chunk) => ({ ...chunk, model: chunk.seq === 2 ? 'm2' : 'm1' })),
      );
      const chunks = await on.store.batches.claim('w', batch.id, 'm1', 1, start + 7);
      expect(chunks).toEqual([{ ...makeChunks(batch)[0], epoch: 1 }]);
      expect(await on.store.batches.find(batch.id)).toMatchObject({
        status: 'in_progress',
        inProgressAt: start + 7,
      });
      expect(await on.store.batches.claim('w', batch.id, 'm1', 9, start + 8)).toMatchObject([
        { seq: 3, epoch: 1 },
      ]);
      expect(await on.store.batches.claim('w', batch.id, 'm1', 9, start + 9)).toEqual([]);
      expect(await on.store.batches.claim('w', batch.id, 'm2', 9, start + 9)).toMatchObject([{ seq: 2 }]);
      expect((await on.store.batches.find(batch.id))?.inProgressAt).toBe(start + 7);
    });

    test('gets nothing of an unknown batch, an unknown model, or a batch whose end is decided', async () => {
      const batch = await addBatch(on.store);
      expect(await on.store.batches.claim('w', 'batch_unknown', 'm1', 1, start)).toEqual([]);
      expect(await on.store.batches.claim('w', batch.id, 'm9', 1, start)).toEqual([]);
      expect(await on.store.batches.claim('w', batch.id, closeModel, 1, start)).toEqual([]);
      await on.store.batches.fail(batch.id, { code: 'x', message: 'y', param: null, line: null }, start);
      expect(await on.store.batches.claim('w', batch.id, 'm1', 1, start)).toEqual([]);
    });

    test('gets nothing of what is given back after the end was decided', async () => {
      const batch = await addBatch(on.store);
      const [released, split] = await on.store.batches.claim('w', batch.id, 'm1', 2, start);
      await on.store.batches.expire(batch.expiresAt, 1);
      expect(await on.store.batches.release('w', [lease(released!)])).toBe(1);
      expect(await on.store.batches.split('w', lease(split!))).toBe(true);
      expect(await on.store.batches.candidates(['m1'], 10)).toEqual([]);
      expect(await readyModels(on)).toEqual([]);
      expect(await on.store.batches.claim('w', batch.id, 'm1', 9, start)).toEqual([]);
      expect((await on.store.batches.find(batch.id))?.status).toBe('in_progress');
    });

    test('from several sides at once gives every chunk to one', async () => {
      const batch = await addBatch(on.store, { total: 160 });
      const claims = await Promise.all(
        range(0, 10).map((i) =>
          (i % 2 === 0 ? on.store : on.other).batches.claim(`w${i}`, batch.id, 'm1', 4, start),
        ),
      );
      const seqs = claims.flat().map((chunk) => chunk.seq);
      expect(seqs.toSorted((a, b) => a - b)).toEqual(range(1, 41));
    });

    test('again gives only the lines without a result', async () => {
      const batch = await addBatch(on.store);
      const [chunk] = await on.store.batches.claim('w', batch.id, 'm1', 1, start);
      await on.store.results.record('w', [output(batch, 1), output(batch, 2)], [], start);
      await on.store.batches.release('w', [lease(chunk!)]);
      const [again] = await on.store.batches.claim('v', batch.id, 'm1', 1, start);
      expect(again).toMatchObject({ seq: 1, epoch: 2, kills: 0 });
      expect(again!.lines.map(({ line }) => line)).toEqual([0, 3]);
      expect(again!.lines[1]).toEqual({ line: 3, offset: 300, length: 99 });
    });

    test('passes over chunks whose lines all have results, and finishes them', async () => {
      const batch = await addBatch(on.store);
      const [chunk] = await on.store.batches.claim('w', batch.id, 'm1', 1, start);
      await on.store.results.record(
        'w',
        range(0, 4).map((line) => output(batch, line)),
        [],
        start,
      );
      await on.store.batches.release('w', [lease(chunk!)]);
      expect(await on.store.batches.claim('v', batch.id, 'm1', 2, start)).toMatchObject([{ seq: 2 }]);
      expect(await on.store.workers.keepOnly('v', [])).toBe(1);
      expect(await on.store.batches.claim('v', batch.id, 'm1', 2, start)).toMatchObject([{ seq: 2 }]);
    });
  });

  describe('releasing', () => {
    test('makes a chunk ready again, unharmed', async () => {
      const batch = await addBatch(on.store);
      const [chunk] = await on.store.batches.claim('w', batch.id, 'm1', 1, start);
      expect(await on.store.batches.release('w', [lease(chunk!)])).toBe(1);
      expect(await on.store.batches.claim('v', batch.id, 'm1', 1, start)).toMatchObject([
        { seq: 1, epoch: 2, kills: 0 },
      ]);
    });

    test('is refused to others, to old leases, and a second time', async () => {
      const batch = await addBatch(on.store);
      const [chunk] = await on.store.batches.claim('w', batch.id, 'm1', 1, start);
      expect(await on.store.batches.release('v', [lease(chunk!)])).toBe(0);
      expect(
        await on.store.batches.release('w', [
          { ...lease(chunk!), epoch: 2 },
          { ...lease(chunk!), seq: 2 },
        ]),
      ).toBe(0);
      await on.store.batches.release('w', [lease(chunk!)]);
      await on.store.batches.claim('w', batch.id, 'm1', 1, start);
      expect(await on.store.batches.release('w', [lease(chunk!)])).toBe(0);
      expect(await on.store.batches.release('w', [])).toBe(0);
    });
  });

  describe('splitting', () => {
    test('replaces a suspect by its remaining lines, one a chunk, equally suspect', async () => {
      const batch = await addBatch(on.store);
      await on.store.batches.claim('dead', batch.id, 'm1', 1, start);
      await on.store.workers.reap(start);
      const [suspect, other] = await on.store.batches.claim('w', batch.id, 'm1', 2, start);
      expect(await on.store.batches.release('w', [lease(other!)])).toBe(1);
      await on.store.results.record('w', [output(batch, 2)], [], start);
      expect(await on.store.batches.split('w', lease(suspect!))).toBe(true);
      const chunks = await on.store.batches.claim('v', batch.id, 'm1', 10, start);
      expect(chunks.map(({ seq, lines }) => [seq, lines.map(({ line }) => line)])).toEqual([
        [2, [4, 5, 6, 7]],
        [3, [0]],
        [4, [1]],
        [5, [3]],
      ]);
      expect(chunks[3]).toEqual({
        batchId: batch.id,
        seq: 5,
        model: 'm1',
        prefix: 'p0',
        lines: [{ line: 3, offset: 300, length: 99 }],
        est: 34,
        epoch: 1,
        kills: 1,
      });
    });

    test('is fenced', async () => {
      const batch = await addBatch(on.store);
      const [chunk] = await on.store.batches.claim('w', batch.id, 'm1', 1, start);
      expect(await on.store.batches.split('v', lease(chunk!))).toBe(false);
      expect(await on.store.batches.split('w', { ...lease(chunk!), epoch: 9 })).toBe(false);
      expect(await on.store.batches.split('w', { ...lease(chunk!), batchId: 'batch_unknown' })).toBe(false);
      expect(await on.store.batches.split('w', lease(chunk!))).toBe(true);
      expect(await on.store.batches.split('w', lease(chunk!))).toBe(false);
    });

    test('gives nothing to claim of a batch whose end is decided', async () => {
      const batch = await addBatch(on.store);
      const [chunk] = await on.store.batches.claim('w', batch.id, 'm1', 1, start);
      await on.store.batches.cancel('org_a', batch.id, start, 0);
      expect(await on.store.batches.split('w', lease(chunk!))).toBe(true);
      expect(await on.store.batches.running(batch.id)).toBe(0);
      expect(await on.store.batches.claim('w', batch.id, 'm1', 10, start)).toEqual([]);
    });
  });

  test('running lines are those claimed and not recorded', async () => {
    const batch = await addBatch(on.store, { total: 12 });
    expect(await on.store.batches.running(batch.id)).toBe(0);
    const [chunk] = await on.store.batches.claim('w', batch.id, 'm1', 2, start);
    expect(await on.store.batches.running(batch.id)).toBe(8);
    await on.store.results.record('w', [output(batch, 0), output(batch, 5)], [], start);
    expect(await on.store.batches.running(batch.id)).toBe(6);
    await on.store.batches.release('w', [lease(chunk!)]);
    expect(await on.store.batches.running(batch.id)).toBe(3);
    await on.store.batches.cancel('org_a', batch.id, start, 0);
    await claimClosing(on.store, 'w', batch.id);
    expect(await on.store.batches.running(batch.id)).toBe(3);
    expect(await on.store.batches.running('batch_unknown')).toBe(0);
  });
}
