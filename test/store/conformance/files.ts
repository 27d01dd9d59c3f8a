import { describe, expect, test } from 'vitest';
import type { Stores } from '../conformance.ts';
import {
  addBatch,
  closeBatch,
  hour,
  makeFile,
  nextId,
  start,
  claimOf,
  storedBy,
  storedBytes,
} from '../fixtures.ts';

export function fileTests(on: Stores): void {
  const add = async (fields: Parameters<typeof makeFile>[0] = {}) => {
    const file = makeFile(fields);
    expect(await on.store.files.insert(file, undefined, start)).toEqual({ outcome: 'created' });
    return file;
  };
  const query = { order: 'asc', limit: 100, now: start } as const;
  const ids = (files: { id: string }[]) => files.map((file) => file.id);

  describe('files', () => {
    test('come back with every field', async () => {
      const input = await add({ filename: 'naïve 日本 "1".jsonl', bytes: 2 ** 40, expiresAt: start + 1 });
      const result = await add({ purpose: 'batch_output', requests: null, endpoint: null });
      expect(await on.store.files.get('org_a', input.id, start)).toEqual(input);
      expect(await on.store.files.get('org_a', result.id, start)).toEqual(result);
    });

    test('stored for requests count as storage of the org, until they are deleted or expire', async () => {
      const orgId = nextId('org_');
      const stored = () => storedBytes(on.store, orgId);
      const user = { orgId, purpose: 'user_data', requests: null, endpoint: null } as const;
      await add({ orgId, bytes: 7 });
      const kept = await add({ ...user, bytes: 60 });
      await add({ ...user, bytes: 40, expiresAt: start + 1 });
      expect(await stored()).toBe(100);
      const more = makeFile({ ...user, bytes: 11 });
      expect(await on.store.files.insert(more, undefined, start, { responses: 110 })).toEqual({
        outcome: 'too_much',
        quota: 'responses',
      });
      expect(await on.store.files.find(more.id)).toBeUndefined();
      expect(await stored()).toBe(100);
      await on.store.files.removeExpired(start + 1, 100);
      expect(await stored()).toBe(60);
      await on.store.files.remove(orgId, kept.id, start);
      expect(await stored()).toBe(0);
    });

    test('of every purpose are counted for their org and their key, exactly (attack 5)', async () => {
      const owner = { orgId: nextId('org_'), keyId: nextId('key_') };
      const sums = async () => {
        const [org, key] = [await storedBy(on.store, owner.orgId), await storedBy(on.store, owner.keyId)];
        return [org.fileBytes, key.fileBytes];
      };
      const limits = { org: 150, key: 100 };
      const insert = (fields: object) =>
        on.other.files.insert(makeFile({ ...owner, ...fields }), undefined, start, limits);
      const input = await add({ ...owner, bytes: 60 });
      await add({ ...owner, bytes: 30, purpose: 'batch_output', requests: null, endpoint: null });
      await add({ ...owner, keyId: null, bytes: 10 });
      expect(await sums()).toEqual([100, 90]);
      expect(await insert({ bytes: 11 })).toEqual({ outcome: 'too_much', quota: 'key' });
      expect(await insert({ bytes: 51, keyId: nextId('key_') })).toEqual({
        outcome: 'too_much',
        quota: 'org',
      });
      expect(await sums()).toEqual([100, 90]);
      expect(await insert({ bytes: 10 })).toEqual({ outcome: 'created' });
      await on.store.files.remove(owner.orgId, input.id, start);
      expect(await sums()).toEqual([50, 40]);
    });

    test('of one org never exceed its limit together, however many come at once (attack 5)', async () => {
      const orgId = nextId('org_');
      const inserted = Array.from({ length: 20 }, (_, n) =>
        (n % 2 ? on.store : on.other).files.insert(makeFile({ orgId, bytes: 10 }), undefined, start, {
          org: 105,
        }),
      );
      const outcomes = (await Promise.all(inserted)).map(({ outcome }) => outcome);
      expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(10);
      expect((await storedBy(on.store, orgId)).fileBytes).toBe(100);
    });

    test('of other orgs and unknown ones are not found', async () => {
      const file = await add();
      expect(await on.store.files.get('org_b', file.id, start)).toBeUndefined();
      expect(await on.store.files.get('org_a', 'file-unknown', start)).toBeUndefined();
      expect(await on.store.files.find('file-unknown')).toBeUndefined();
    });

    test('F16: that expired are hidden from clients and readable by running batches', async () => {
      const file = await add({ expiresAt: start + hour });
      expect(await on.store.files.get('org_a', file.id, start + hour - 1)).toEqual(file);
      expect(await on.store.files.get('org_a', file.id, start + hour)).toBeUndefined();
      expect(await on.store.files.list('org_a', { ...query, now: start + hour })).toEqual([]);
      expect(await on.store.files.find(file.id)).toEqual(file);
    });

    test('are listed in both orders, by purpose, within the org', async () => {
      const [a, b, c] = [await add(), await add({ purpose: 'batch_output' }), await add()];
      await add({ orgId: 'org_b' });
      expect(ids(await on.store.files.list('org_a', query))).toEqual(ids([a, b, c]));
      expect(ids(await on.store.files.list('org_a', { ...query, order: 'desc' }))).toEqual(ids([c, b, a]));
      expect(ids(await on.store.files.list('org_a', { ...query, purpose: 'batch' }))).toEqual(ids([a, c]));
      expect(ids(await on.store.files.list('org_a', { ...query, limit: 2 }))).toEqual(ids([a, b]));
    });

    test('are paged after an id that exists, was removed, or never existed', async () => {
      const [a, b, c] = [await add(), await add(), await add()];
      const page = (after: string, order: 'asc' | 'desc' = 'asc') =>
        on.store.files.list('org_a', { ...query, after, order });
      expect(ids(await page(b.id))).toEqual([c.id]);
      expect(ids(await page(b.id, 'desc'))).toEqual([a.id]);
      await on.store.files.remove('org_a', b.id, start);
      expect(ids(await page(b.id))).toEqual([c.id]);
      expect(ids(await page(b.id, 'desc'))).toEqual([a.id]);
      expect(ids(await page('file-'))).toEqual(ids([a, c]));
      expect(ids(await page('zzz'))).toEqual([]);
    });

    test('are removed once, and only by their org', async () => {
      const file = await add();
      expect(await on.store.files.remove('org_b', file.id, start)).toEqual({ outcome: 'missing' });
      expect(await on.store.files.remove('org_a', file.id, start)).toEqual({ outcome: 'removed', file });
      expect(await on.store.files.remove('org_a', file.id, start)).toEqual({ outcome: 'missing' });
      expect(await on.store.files.find(file.id)).toBeUndefined();
    });

    test('that expired cannot be removed by a client', async () => {
      const file = await add({ expiresAt: start });
      expect(await on.store.files.remove('org_a', file.id, start)).toEqual({ outcome: 'missing' });
    });

    test('stay while an unfinished batch reads them', async () => {
      const batch = await addBatch(on.store);
      const remove = () => on.store.files.remove('org_a', batch.inputFileId, start);
      expect(await remove()).toEqual({ outcome: 'in_use' });
      await claimOf(on.store, 'w', batch.id);
      expect(await remove()).toEqual({ outcome: 'in_use' });
      await on.store.batches.cancel('org_a', batch.id, start, 0);
      expect(await remove()).toEqual({ outcome: 'in_use' });
      await closeBatch(on.store, batch.id);
      expect((await remove()).outcome).toBe('removed');
    });

    test('that expired are swept a few at a time, but not while a batch needs them', async () => {
      const batch = await addBatch(on.store);
      const pinned = await add({ expiresAt: start + 1 });
      const reading = await addBatch(on.store, { inputFileId: pinned.id });
      const old = [
        await add({ expiresAt: start + 2 }),
        await add({ expiresAt: start + 3 }),
        await add({ expiresAt: start + 4 }),
      ];
      const young = await add({ expiresAt: start + 6 });
      const sweep = (limit: number) => on.store.files.removeExpired(start + 5, limit);
      expect(await sweep(2)).toEqual([old[0], old[1]]);
      expect(await sweep(2)).toEqual([old[2]]);
      expect(await sweep(2)).toEqual([]);
      expect(await on.store.files.find(young.id)).toEqual(young);
      await on.store.batches.cancel('org_a', reading.id, start, 0);
      await closeBatch(on.store, reading.id);
      expect(await sweep(2)).toEqual([pinned]);
      expect(await on.store.files.find(batch.inputFileId)).toBeDefined();
    });

    test('report which blobs they refer to, among any number of names', async () => {
      const files = [await add(), await add({ orgId: 'org_b' })];
      const asked = Array.from({ length: 40_000 }, (_, i) => `blob_unknown${i}`);
      asked[123] = files[0]!.blobId;
      asked[39_999] = files[1]!.blobId;
      expect((await on.store.files.referencedBlobs(asked)).toSorted()).toEqual(
        files.map((file) => file.blobId).toSorted(),
      );
      expect(await on.store.files.referencedBlobs([])).toEqual([]);
    });

    test('that are removed keep the name of their blob until it is deleted too', async () => {
      const [asked, expired, kept] = [await add(), await add({ expiresAt: start + 1 }), await add()];
      await on.store.files.remove('org_a', asked.id, start);
      await on.store.files.removeExpired(start + 2, 10);
      const removed = [asked.blobId, expired.blobId].toSorted();
      expect(await on.other.files.removedBlobs(10)).toEqual(removed);
      expect(await on.store.files.removedBlobs(1)).toEqual(removed.slice(0, 1));
      await on.store.files.forgetRemoved([removed[0]!, kept.blobId]);
      expect(await on.store.files.removedBlobs(10)).toEqual(removed.slice(1));
      await on.store.files.forgetRemoved([]);
    });

    test('return the blobs of the newest', async () => {
      const files = [await add(), await add({ orgId: 'org_b' }), await add()];
      expect(await on.store.files.newestBlobs(2)).toEqual([files[2]!.blobId, files[1]!.blobId]);
    });

    test('never share a blob', async () => {
      const file = await add();
      await expect(
        on.store.files.insert(makeFile({ blobId: file.blobId }), undefined, start),
      ).rejects.toThrow();
      expect(await on.store.files.list('org_a', query)).toEqual([file]);
    });

    test('are either removed or used by a batch, never both', async () => {
      for (let round = 0; round < 5; round++) {
        const file = await add();
        const [removed, created] = await Promise.all([
          on.other.files.remove('org_a', file.id, start),
          addBatch(on.store, { inputFileId: file.id, id: nextId('batch_') }).then(
            () => true,
            () => false,
          ),
        ]);
        expect(created).toBe(removed.outcome === 'in_use');
        expect((await on.store.files.find(file.id)) !== undefined).toBe(created);
      }
    });
  });
}
