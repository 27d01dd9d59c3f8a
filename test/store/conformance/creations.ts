import { describe, expect, test } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import type { IdempotencyToken } from '../../../src/store/contract/idempotency.ts';
import type { Stores } from '../conformance.ts';
import {
  addBatch,
  closeBatch,
  hour,
  makeBatch,
  makeChunks,
  makeCreation,
  makeFile,
  range,
  start,
} from '../fixtures.ts';

/** Both operations with an idempotency key, behind one interface. */
const kinds = {
  file: async (store: Store, creation: IdempotencyToken, now: number, orgId = 'org_a') => {
    const file = makeFile({ orgId });
    const outcome = await store.files.insert(file, creation, now);
    return { id: file.id, outcome, stored: (await store.files.find(file.id)) !== undefined };
  },
  batch: async (store: Store, creation: IdempotencyToken, now: number, orgId = 'org_a') => {
    const inlineFile = makeFile({ orgId });
    const batch = makeBatch({ orgId, inputFileId: inlineFile.id });
    const options = { inlineFile, creation, limits: { org: { openBatches: 100 }, key: {} }, now };
    const outcome = await store.batches.create(batch, makeChunks(batch), options);
    const stored = (await store.batches.find(batch.id)) !== undefined;
    expect((await store.files.find(inlineFile.id)) !== undefined).toBe(stored);
    return { id: batch.id, outcome, stored };
  },
};

export function creationTests(on: Stores): void {
  describe.each(Object.entries(kinds))('creating a %s again', (_, create) => {
    const created = { outcome: { outcome: 'created' }, stored: true };
    const replayed = (id: string) => ({ outcome: { outcome: 'replayed', id }, stored: false });

    test('with the same key and body returns the first', async () => {
      const first = await create(on.store, makeCreation(), start);
      expect(first).toMatchObject(created);
      expect(await create(on.store, makeCreation({ startedAt: start + hour }), start + hour)).toMatchObject(
        replayed(first.id),
      );
    });

    test('with the same key and another body is a mismatch, and stores nothing', async () => {
      await create(on.store, makeCreation(), start);
      const second = await create(on.store, makeCreation({ bodyHash: 'bb', retry: 1 }), start);
      expect(second).toMatchObject({ outcome: { outcome: 'mismatch' }, stored: false });
    });

    test('with another key, in another org, or after the key has expired creates another', async () => {
      await create(on.store, makeCreation(), start);
      expect(await create(on.store, makeCreation({ token: 'k:/v1/files:two' }), start)).toMatchObject(
        created,
      );
      expect(await create(on.store, makeCreation(), start, 'org_b')).toMatchObject(created);
      expect(await create(on.store, makeCreation({ bodyHash: 'bb' }), start + 24 * hour)).toMatchObject(
        created,
      );
    });

    const unkeyed = (fields: Partial<IdempotencyToken> = {}) =>
      makeCreation({ token: 'h:/v1/files:key_a:aa', ttlMs: 600_000, ...fields });

    test('without a key creates another', async () => {
      await create(on.store, unkeyed(), start);
      expect(await create(on.store, unkeyed({ startedAt: start + 1 }), start + 1)).toMatchObject(created);
      expect(await create(on.store, unkeyed({ startedAt: start + 2 }), start + 2)).toMatchObject(created);
    });

    test('without a key returns the first to a retry', async () => {
      const first = await create(on.store, unkeyed(), start);
      const retry = unkeyed({ startedAt: start + 30_000, retry: 1 });
      expect(await create(on.store, retry, start + 30_000)).toMatchObject(replayed(first.id));
      expect(await create(on.store, { ...retry, retry: 2 }, start + 60_000)).toMatchObject(
        replayed(first.id),
      );
    });

    test('returns the creation of the retry to a slow original', async () => {
      const retry = await create(on.store, unkeyed({ startedAt: start + 1_000, retry: 1 }), start + 1_000);
      expect(await create(on.store, unkeyed({ startedAt: start }), start + 2_000)).toMatchObject(
        replayed(retry.id),
      );
    });

    test('creates another when a new original follows an earlier retry', async () => {
      await create(on.store, unkeyed({ startedAt: start, retry: 1 }), start);
      expect(await create(on.store, unkeyed({ startedAt: start + 1 }), start + 1)).toMatchObject(created);
    });

    test('returns the latest to a retry', async () => {
      await create(on.store, unkeyed(), start);
      const latest = await create(on.store, unkeyed({ startedAt: start + 1 }), start + 1);
      const retry = unkeyed({ startedAt: start + 2, retry: 1 });
      expect(await create(on.store, retry, start + 2)).toMatchObject(replayed(latest.id));
    });

    test('at the same millisecond returns the first if either is a retry', async () => {
      const first = await create(on.store, unkeyed({ retry: 1 }), start);
      expect(await create(on.store, unkeyed(), start)).toMatchObject(replayed(first.id));
    });

    test('as a retry after ten minutes creates another', async () => {
      await create(on.store, unkeyed(), start);
      const late = unkeyed({ startedAt: start + 600_000, retry: 1 });
      expect(await create(on.store, late, start + 600_000)).toMatchObject(created);
    });

    test('concurrently creates one', async () => {
      const attempts = await Promise.all(
        range(0, 8).map((i) =>
          create(i % 2 === 0 ? on.store : on.other, makeCreation({ startedAt: start + i }), start),
        ),
      );
      const winners = attempts.filter((attempt) => attempt.outcome.outcome === 'created');
      expect(winners).toHaveLength(1);
      for (const loser of attempts.filter((attempt) => attempt !== winners[0]))
        expect(loser).toMatchObject(replayed(winners[0]!.id));
    });
  });

  describe('a creation', () => {
    test('that failed is not remembered', async () => {
      const creation = makeCreation({ token: 'k:/v1/batches:one' });
      const batch = makeBatch({ inputFileId: 'file-unknown' });
      const options = { creation, limits: { org: { openBatches: 100 }, key: {} }, now: start };
      expect(await on.store.batches.create(batch, makeChunks(batch), options)).toEqual({
        outcome: 'input_missing',
      });
      const file = makeFile();
      await on.store.files.insert(file, undefined, start);
      const again = { ...batch, inputFileId: file.id };
      expect(await on.store.batches.create(again, makeChunks(again), options)).toEqual({
        outcome: 'created',
      });
    });

    test('beyond the limit of batches is not remembered', async () => {
      const creation = makeCreation({ token: 'k:/v1/batches:one' });
      const open = await addBatch(on.store);
      const attempt = () => {
        const batch = makeBatch({ inputFileId: open.inputFileId });
        return on.store.batches.create(batch, makeChunks(batch), {
          creation,
          limits: { org: { openBatches: 1 }, key: {} },
          now: start,
        });
      };
      expect(await attempt()).toMatchObject({ outcome: 'limit_exceeded' });
      await on.store.batches.cancel('org_a', open.id, start, 0);
      await closeBatch(on.store, open.id);
      expect(await attempt()).toEqual({ outcome: 'created' });
    });

    test('is repeated even if it would fail by now', async () => {
      const creation = makeCreation({ token: 'k:/v1/batches:one' });
      const first = await addBatch(on.store);
      const batch = makeBatch({ inputFileId: first.inputFileId });
      expect(
        await on.store.batches.create(batch, makeChunks(batch), {
          creation,
          limits: { org: { openBatches: 2 }, key: {} },
          now: start,
        }),
      ).toEqual({ outcome: 'created' });
      const retry = makeBatch({ inputFileId: 'file-gone' });
      expect(
        await on.store.batches.create(retry, makeChunks(retry), {
          creation,
          limits: { org: { openBatches: 2 }, key: {} },
          now: start,
        }),
      ).toEqual({
        outcome: 'replayed',
        id: batch.id,
      });
    });

    test('that is a repetition or nothing stores nothing, and is not remembered', async () => {
      const creation = makeCreation({ token: 'k:/v1/batches:one' });
      const { inputFileId } = await addBatch(on.store);
      const batch = makeBatch({ inputFileId });
      const options = { creation, limits: { org: {}, key: {} }, now: start };
      const repeated = { ...options, replayOnly: true };
      expect(await on.store.batches.create(batch, makeChunks(batch), repeated)).toEqual({
        outcome: 'not_replayed',
      });
      expect(await on.store.batches.find(batch.id)).toBeUndefined();
      expect(await on.store.batches.create(batch, makeChunks(batch), options)).toEqual({
        outcome: 'created',
      });
      const again = makeBatch({ inputFileId });
      expect(await on.store.batches.create(again, makeChunks(again), repeated)).toEqual({
        outcome: 'replayed',
        id: batch.id,
      });
    });

    test('is forgotten with its file', async () => {
      const [removed, expired] = [makeFile(), makeFile({ expiresAt: start + 1 })];
      const [one, two] = [makeCreation(), makeCreation({ token: 'k:/v1/files:two' })];
      await on.store.files.insert(removed, one, start);
      await on.store.files.insert(expired, two, start);
      await on.store.files.remove('org_a', removed.id, start);
      await on.store.files.removeExpired(start + 1, 10);
      expect(await on.store.files.insert(makeFile(), one, start + 1)).toEqual({ outcome: 'created' });
      expect(await on.store.files.insert(makeFile(), two, start + 1)).toEqual({ outcome: 'created' });
    });
  });
}
