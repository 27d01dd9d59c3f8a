import { describe, expect, test } from 'vitest';
import { closeModel } from '../../../src/core/batch.ts';
import type { Stores } from '../conformance.ts';
import {
  addBatch,
  claimClosing,
  lease,
  makeChunks,
  output,
  failure,
  range,
  runningLines,
  start,
  claimOf,
  readyModels,
} from '../fixtures.ts';

export function chunkTests(on: Stores): void {
  test('models of ready chunks are listed in order', async () => {
    const batch = await addBatch(on.store, { total: 12 }, (made) =>
      makeChunks(made).map((chunk) => ({ ...chunk, model: `m${3 - chunk.seq}` })),
    );
    expect(await readyModels(on.store)).toEqual(['m0', 'm1', 'm2']);
    const [chunk] = await claimOf(on.store, 'w', batch.id);
    expect(await readyModels(on.store)).toEqual(['m0', 'm2']);
    await on.store.batches.release('w', [lease(chunk!)]);
    expect(await readyModels(on.store)).toEqual(['m0', 'm1', 'm2']);
    await on.store.batches.cancel('org_a', batch.id, start, 0);
    expect(await readyModels(on.store)).toEqual([]);
  });

  describe('claiming', () => {
    test('leases the first ready chunks of the model and begins the batch', async () => {
      const batch = await addBatch(on.store, { total: 12 }, (made) =>
        makeChunks(made).map((chunk) => ({ ...chunk, model: chunk.seq === 2 ? 'm2' : 'm1' })),
      );
      const chunks = await claimOf(on.store, 'w', batch.id, { now: start + 7 });
      expect(chunks).toEqual([{ ...makeChunks(batch)[0], epoch: 1 }]);
      expect(await on.store.batches.find(batch.id)).toMatchObject({
        status: 'in_progress',
        inProgressAt: start + 7,
      });
      expect(await claimOf(on.store, 'w', batch.id, { count: 9, now: start + 8 })).toMatchObject([
        { seq: 3, epoch: 1 },
      ]);
      expect(await claimOf(on.store, 'w', batch.id, { count: 9, now: start + 9 })).toEqual([]);
      expect(await claimOf(on.store, 'w', batch.id, { count: 9, model: 'm2', now: start + 9 })).toMatchObject(
        [{ seq: 2 }],
      );
      expect((await on.store.batches.find(batch.id))?.inProgressAt).toBe(start + 7);
    });

    test('returns nothing for an unknown batch, an unknown model, or a batch whose end is decided', async () => {
      const batch = await addBatch(on.store);
      expect(await claimOf(on.store, 'w', 'batch_unknown')).toEqual([]);
      expect(await claimOf(on.store, 'w', batch.id, { model: 'm9' })).toEqual([]);
      expect(await claimOf(on.store, 'w', batch.id, { model: closeModel })).toEqual([]);
      await on.store.batches.fail(batch.id, { code: 'x', message: 'y', param: null, line: null }, start);
      expect(await claimOf(on.store, 'w', batch.id)).toEqual([]);
    });

    test('returns no chunk that is released after the end was decided', async () => {
      const batch = await addBatch(on.store);
      const [released, split] = await claimOf(on.store, 'w', batch.id, { count: 2 });
      await on.store.batches.expire(batch.expiresAt, 1);
      expect(await on.store.batches.release('w', [lease(released!)])).toBe(1);
      expect(await on.store.batches.split('w', lease(split!))).toBe(true);
      expect(await readyModels(on.store)).toEqual([]);
      expect(await claimOf(on.store, 'w', batch.id, { count: 9 })).toEqual([]);
      expect((await on.store.batches.find(batch.id))?.status).toBe('in_progress');
    });

    test('concurrently gives every chunk to one process', async () => {
      const batch = await addBatch(on.store, { total: 160 });
      const claims = await Promise.all(
        range(0, 10).map((i) => claimOf(i % 2 === 0 ? on.store : on.other, `w${i}`, batch.id, { count: 4 })),
      );
      const seqs = claims.flat().map((chunk) => chunk.seq);
      expect(seqs.toSorted((a, b) => a - b)).toEqual(range(1, 41));
    });

    test('a second time returns only the lines without a result', async () => {
      const batch = await addBatch(on.store);
      const [chunk] = await claimOf(on.store, 'w', batch.id);
      await on.store.results.record('w', [output(batch, 1), output(batch, 2)], [], start);
      await on.store.batches.release('w', [lease(chunk!)]);
      const [again] = await claimOf(on.store, 'v', batch.id);
      expect(again).toMatchObject({ seq: 1, epoch: 2, kills: 0 });
      expect(again!.lines.map(({ line }) => line)).toEqual([0, 3]);
      expect(again!.est).toBe(Math.ceil(chunk!.est / 2));
      expect(again!.lines[1]).toEqual({ line: 3, offset: 300, length: 99 });
    });

    test('skips chunks whose lines all have results, and finishes them', async () => {
      const batch = await addBatch(on.store);
      const [chunk] = await claimOf(on.store, 'w', batch.id);
      await on.store.results.record(
        'w',
        range(0, 4).map((line) => output(batch, line)),
        [],
        start,
      );
      await on.store.batches.release('w', [lease(chunk!)]);
      expect(await claimOf(on.store, 'v', batch.id, { count: 2 })).toMatchObject([{ seq: 2 }]);
      expect(await on.store.batches.release('v', await on.store.workers.leases('v'))).toBe(1);
      expect(await claimOf(on.store, 'v', batch.id, { count: 2 })).toMatchObject([{ seq: 2 }]);
    });
  });

  describe('releasing', () => {
    test('makes a chunk ready again, without counting a kill', async () => {
      const batch = await addBatch(on.store);
      const [chunk] = await claimOf(on.store, 'w', batch.id);
      expect(await on.store.batches.release('w', [lease(chunk!)])).toBe(1);
      expect(await claimOf(on.store, 'v', batch.id)).toMatchObject([{ seq: 1, epoch: 2, kills: 0 }]);
    });

    test('is refused for other owners, old leases, and a second time', async () => {
      const batch = await addBatch(on.store);
      const [chunk] = await claimOf(on.store, 'w', batch.id);
      expect(await on.store.batches.release('v', [lease(chunk!)])).toBe(0);
      expect(
        await on.store.batches.release('w', [
          { ...lease(chunk!), epoch: 2 },
          { ...lease(chunk!), seq: 2 },
        ]),
      ).toBe(0);
      await on.store.batches.release('w', [lease(chunk!)]);
      await claimOf(on.store, 'w', batch.id);
      expect(await on.store.batches.release('w', [lease(chunk!)])).toBe(0);
      expect(await on.store.batches.release('w', [])).toBe(0);
    });
  });

  describe('splitting', () => {
    test('replaces a suspect chunk by one chunk per remaining line, equally suspect', async () => {
      const batch = await addBatch(on.store);
      await claimOf(on.store, 'dead', batch.id);
      await on.store.workers.reap(start);
      const [suspect, other] = await claimOf(on.store, 'w', batch.id, { count: 2 });
      expect(await on.store.batches.release('w', [lease(other!)])).toBe(1);
      await on.store.results.record('w', [output(batch, 2)], [], start);
      expect(await on.store.batches.split('w', lease(suspect!))).toBe(true);
      const chunks = await claimOf(on.store, 'v', batch.id, { count: 10 });
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
        est: 25,
        epoch: 1,
        kills: 1,
      });
    });

    test('is fenced', async () => {
      const batch = await addBatch(on.store);
      const [chunk] = await claimOf(on.store, 'w', batch.id);
      expect(await on.store.batches.split('v', lease(chunk!))).toBe(false);
      expect(await on.store.batches.split('w', { ...lease(chunk!), epoch: 9 })).toBe(false);
      expect(await on.store.batches.split('w', { ...lease(chunk!), batchId: 'batch_unknown' })).toBe(false);
      expect(await on.store.batches.split('w', lease(chunk!))).toBe(true);
      expect(await on.store.batches.split('w', lease(chunk!))).toBe(false);
    });

    test('leaves nothing to claim of a batch whose end is decided', async () => {
      const batch = await addBatch(on.store);
      const [chunk] = await claimOf(on.store, 'w', batch.id);
      await on.store.batches.cancel('org_a', batch.id, start, 0);
      expect(await on.store.batches.split('w', lease(chunk!))).toBe(true);
      expect(await runningLines(on.store, batch.id)).toBe(0);
      expect(await claimOf(on.store, 'w', batch.id, { count: 10 })).toEqual([]);
    });
  });

  test('running lines are those claimed and not recorded', async () => {
    const batch = await addBatch(on.store, { total: 12 });
    expect(await runningLines(on.store, batch.id)).toBe(0);
    const [chunk] = await claimOf(on.store, 'w', batch.id, { count: 2 });
    expect(await runningLines(on.store, batch.id)).toBe(8);
    await on.store.results.record('w', [output(batch, 0), output(batch, 5)], [], start);
    expect(await runningLines(on.store, batch.id)).toBe(6);
    await on.store.batches.release('w', [lease(chunk!)]);
    expect(await runningLines(on.store, batch.id)).toBe(3);
    await on.store.batches.cancel('org_a', batch.id, start, 0);
    await claimClosing(on.store, 'w', batch.id);
    expect(await runningLines(on.store, batch.id)).toBe(3);
    expect(await runningLines(on.store, 'batch_unknown')).toBe(0);
  });

  test('a snapshot of a batch has its row, its ledger, its running lines and its errors', async () => {
    const batch = await addBatch(on.store, { total: 12 });
    await claimOf(on.store, 'w', batch.id, { count: 2 });
    await on.store.results.record('w', [output(batch, 0), failure(batch, 1)], [], start);
    const picture = (await on.store.batches.snapshot(batch.id))!;
    expect(picture).toEqual({
      batch: await on.store.batches.find(batch.id),
      ledger: await on.store.ledger.forSources([batch.id]),
      running: 6,
      errorSummary: [{ code: 'upstream_error', count: 1, example: 'Line 1 failed.' }],
    });
    expect(picture).toMatchObject({ batch: { ok: 1, err: 1 }, ledger: [{ requests: 1 }] });
    expect(await on.store.batches.snapshot(batch.id, 'org_a')).toEqual(picture);
    expect(await on.store.batches.snapshot(batch.id, 'org_b')).toBeUndefined();
    expect(await on.store.batches.snapshot('batch_unknown')).toBeUndefined();
  });
}
