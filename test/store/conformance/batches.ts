import { describe, expect, test } from 'vitest';
import type { Batch } from '../../../src/core/batch.ts';
import type { Stores } from '../conformance.ts';
import {
  addBatch,
  closeBatch,
  hour,
  lease,
  makeBatch,
  makeChunks,
  makeFile,
  makeOrg,
  output,
  range,
  start,
  claimOf,
  readyModels,
} from '../fixtures.ts';

export function batchTests(on: Stores): void {
  const options = { limits: { org: { openBatches: 100 }, key: {} }, now: start };
  const ids = (batches: Batch[]) => batches.map((batch) => batch.id);

  describe('batches', () => {
    test('come back with every field', async () => {
      const batch = await addBatch(on.store, {
        metadata: '{ "a": 1.10, "b": "\\u0000\\ud800 naïve", "a": 12345678901234567890 }',
        model: null,
        priceFactor: 0.25,
        errors: [{ code: 'batch_failed', message: 'Because.', param: null, line: 3 }],
        prices: {},
        due: start - 5,
      });
      expect(await on.store.batches.get('org_a', batch.id)).toEqual(batch);
      expect(await on.store.batches.find(batch.id)).toEqual(batch);
    });

    test('of other orgs and unknown ones are not found', async () => {
      const batch = await addBatch(on.store);
      expect(await on.store.batches.get('org_b', batch.id)).toBeUndefined();
      expect(await on.store.batches.get('org_a', 'batch_unknown')).toBeUndefined();
      expect(await on.store.batches.find('batch_unknown')).toBeUndefined();
    });

    test.each([
      ['unknown', undefined],
      ['of another org', { orgId: 'org_b' }],
      ['expired', { expiresAt: start }],
      ['a result', { purpose: 'batch_output' as const }],
    ])('are not created on a file that is %s', async (_, fields) => {
      const file = makeFile(fields);
      if (fields) await on.store.files.insert(file, undefined, start);
      const batch = makeBatch({ inputFileId: file.id });
      expect(await on.store.batches.create(batch, makeChunks(batch), options)).toEqual({
        outcome: 'input_missing',
      });
      expect(await on.store.batches.find(batch.id)).toBeUndefined();
      expect(await readyModels(on.store)).toEqual([]);
    });

    test('store their inline requests as a file', async () => {
      const inlineFile = makeFile();
      const batch = makeBatch({ inputFileId: inlineFile.id });
      expect(await on.store.batches.create(batch, makeChunks(batch), { ...options, inlineFile })).toEqual({
        outcome: 'created',
      });
      expect(await on.store.files.get('org_a', inlineFile.id, start)).toEqual(inlineFile);
    });

    test('of 10,000 lines in 2,500 chunks are stored completely', async () => {
      const batch = await addBatch(on.store, { total: 10_000 }, (made) => makeChunks(made, 4));
      const claimed = await claimOf(on.store, 'w', batch.id, { count: 3_000 });
      expect(claimed).toEqual(makeChunks(batch, 4).map((chunk) => ({ ...chunk, epoch: 1 })));
    });

    test('that are open are limited per org, and one too many leaves no rows', async () => {
      const [first] = [
        await addBatch(on.store),
        await addBatch(on.store),
        await addBatch(on.store, { orgId: 'org_b' }),
      ];
      const inlineFile = makeFile();
      const batch = makeBatch({ inputFileId: inlineFile.id });
      const attempt = () =>
        on.store.batches.create(batch, makeChunks(batch), {
          ...options,
          inlineFile,
          limits: { org: { openBatches: 2 }, key: {} },
        });
      expect(await attempt()).toMatchObject({
        outcome: 'limit_exceeded',
        exceeded: [{ name: 'open_batches' }],
      });
      expect(await on.store.batches.find(batch.id)).toBeUndefined();
      expect(await on.store.files.find(inlineFile.id)).toBeUndefined();
      await on.store.batches.cancel('org_a', first.id, start, 0);
      expect(await attempt()).toMatchObject({
        outcome: 'limit_exceeded',
        exceeded: [{ name: 'open_batches' }],
      });
      await closeBatch(on.store, first.id);
      expect(await attempt()).toEqual({ outcome: 'created' });
    });

    test('that are created concurrently never exceed the limit', async () => {
      await on.store.orgs.insert(makeOrg({ id: 'org_a' }));
      const file = makeFile();
      await on.store.files.insert(file, undefined, start);
      const outcomes = await Promise.all(
        range(0, 8).map((i) => {
          const batch = makeBatch({ inputFileId: file.id });
          return (i % 2 === 0 ? on.store : on.other).batches.create(batch, makeChunks(batch), {
            ...options,
            limits: { org: { openBatches: 3 }, key: {} },
          });
        }),
      );
      expect(outcomes.filter(({ outcome }) => outcome === 'created')).toHaveLength(3);
      expect(outcomes.filter(({ outcome }) => outcome === 'limit_exceeded')).toHaveLength(5);
    });

    test('are listed newest first, within the org, in pages', async () => {
      const [a, b, c] = [await addBatch(on.store), await addBatch(on.store), await addBatch(on.store)];
      await addBatch(on.store, { orgId: 'org_b' });
      expect(await on.store.batches.list('org_a', { limit: 10 })).toEqual([c, b, a]);
      expect(ids(await on.store.batches.list('org_a', { limit: 2 }))).toEqual([c.id, b.id]);
      expect(ids(await on.store.batches.list('org_a', { limit: 2, after: b.id }))).toEqual([a.id]);
      expect(ids(await on.store.batches.list('org_a', { limit: 2, after: 'batch_' }))).toEqual([]);
      expect(ids(await on.store.batches.list('org_c', { limit: 2 }))).toEqual([]);
      const oldestFirst = (after?: string) =>
        on.store.batches.list('org_a', { limit: 2, order: 'asc', ...(after && { after }) });
      expect(ids(await oldestFirst())).toEqual([a.id, b.id]);
      expect(ids(await oldestFirst(b.id))).toEqual([c.id]);
      expect(ids(await oldestFirst(c.id))).toEqual([]);
    });

    test('are listed by endpoint, and up to a batch', async () => {
      const [a, b, c, d] = [
        await addBatch(on.store, { endpoint: '/v1/messages' }),
        await addBatch(on.store),
        await addBatch(on.store, { endpoint: '/v1/messages' }),
        await addBatch(on.store, { endpoint: '/v1/messages' }),
      ];
      const list = async (query: object) =>
        ids(await on.store.batches.list('org_a', { limit: 10, ...query }));
      expect(await list({ endpoint: '/v1/messages' })).toEqual([d.id, c.id, a.id]);
      expect(await list({ before: a.id })).toEqual([d.id, c.id, b.id]);
      expect(await list({ before: a.id, limit: 1 })).toEqual([b.id]);
      expect(await list({ before: a.id, limit: 1, endpoint: '/v1/messages' })).toEqual([c.id]);
    });

    test('are removed after their results were purged, with their idempotency keys and no other rows', async () => {
      const creation = { token: 'k:batches:1', bodyHash: 'x', startedAt: start, retry: 0, ttlMs: hour };
      const batch = await addBatch(on.store);
      const again = makeBatch({ inputFileId: batch.inputFileId });
      await on.store.batches.create(again, makeChunks(again), { ...options, creation });
      await on.store.batches.cancel('org_a', again.id, start, 0);
      await closeBatch(on.store, again.id);
      expect(await on.store.batches.remove('org_a', again.id, start)).toBe(false);
      await on.store.results.purge(again.id, 100);
      expect(await on.store.batches.remove('org_b', again.id, start)).toBe(false);
      expect(await on.store.batches.remove('org_a', again.id, start)).toBe(true);
      expect(await on.store.batches.remove('org_a', again.id, start)).toBe(false);
      expect(await on.store.batches.find(again.id)).toBeUndefined();
      expect(await on.store.batches.find(batch.id)).toBeDefined();
      const third = makeBatch({ inputFileId: batch.inputFileId });
      const made = await on.store.batches.create(third, makeChunks(third), { ...options, creation });
      expect(made.outcome).toBe('created');
    });

    test('are listed by status and by age', async () => {
      const old = await addBatch(on.store);
      const young = await addBatch(on.store, { createdAt: start + hour });
      await claimOf(on.store, 'w', old.id);
      expect(ids(await on.store.batches.list('org_a', { limit: 10, status: 'in_progress' }))).toEqual([
        old.id,
      ]);
      expect(ids(await on.store.batches.list('org_a', { limit: 10, status: 'failed' }))).toEqual([]);
      expect(ids(await on.store.batches.list('org_a', { limit: 10, createdAfter: start + hour }))).toEqual([
        young.id,
      ]);
      const both = { limit: 10, status: 'validating', createdAfter: start, after: young.id } as const;
      expect(ids(await on.store.batches.list('org_a', both))).toEqual([]);
    });

    test('count the batches of their org ahead of them', async () => {
      const add = (due: number, fields: Partial<Batch> = {}) => addBatch(on.store, { due, ...fields });
      const ahead = async (batch: Batch, models: string[]) =>
        (await on.store.batches.queuePlace(batch, models)).ahead;
      const [first, second] = [await add(start), await add(start)];
      await add(start, { orgId: 'org_b' });
      await on.store.batches.cancel('org_a', (await add(start - 9)).id, start, 0);
      const last = await add(start + 1);
      await add(start + 2);
      await add(start - 9, { model: 'other' });
      await on.store.batches.pause('org_a', (await add(start - 9)).id, start);
      const mixed = (models: string[]) =>
        addBatch(on.store, { due: start + 1, model: null }, (batch) =>
          models.map((model, at) => ({ ...makeChunks(batch)[0]!, model, seq: at + 1 })),
        );
      await mixed(['other', 'another']);
      const counted = await Promise.all([first, second, last].map((batch) => ahead(batch, [first.model!])));
      expect(counted).toEqual([0, 1, 2]);
      await mixed(['other', first.model!]);
      const end = { ...last, id: '~', due: start + 1 };
      expect(await ahead(end, [first.model!])).toBe(4);
      expect(await ahead(end, ['another', 'third'])).toBe(1);
      expect(await ahead(end, [])).toBe(0);
    });

    test('are open until their end is decided, and are listed by expiry', async () => {
      const late = await addBatch(on.store, { expiresAt: start + 90_000_000 });
      const [early, next] = [await addBatch(on.store), await addBatch(on.store)];
      await on.store.batches.cancel('org_a', (await addBatch(on.store)).id, start, 0);
      expect(await on.store.batches.markAtRisk(early.id, start + 5)).toBe(true);
      const { createdAt, inProgressAt, expiresAt, pausedAt, pausedMs } = early;
      const { id, orgId, keyId, keyFamily, model, due, total, ok, err, est } = early;
      const times = { createdAt, inProgressAt, expiresAt, pausedAt, pausedMs, atRiskAt: start + 5 };
      const short = { id, orgId, keyId, keyFamily, model, due, total, ok, err, est, ...times };
      const rest = [next.id, late.id].map((each) => expect.objectContaining({ id: each }));
      expect(await on.store.batches.listOpen(10)).toEqual([short, ...rest]);
      expect(await on.store.batches.listOpen(1)).toEqual([short]);
      expect(await on.store.batches.listOpen(10, short)).toEqual(rest);
    });

    test('have their unfinished lines summed by batch and model', async () => {
      const several = await addBatch(on.store, { model: null, total: 8 }, (batch) =>
        makeChunks(batch).map((chunk, at) => ({
          ...chunk,
          model: at === 0 ? 'other' : chunk.model,
          est: 10 * (at + 1),
        })),
      );
      const claimed = await addBatch(on.store, { total: 8 });
      const paused = await addBatch(on.store);
      await on.store.batches.pause('org_a', paused.id, start);
      const [chunk] = await claimOf(on.store, 'w', claimed.id, { count: 1 });
      const sums = async () => {
        const rows = await on.store.batches.openLines([several.id, claimed.id, paused.id]);
        return rows.toSorted((x, y) => (x.batchId + x.model < y.batchId + y.model ? -1 : 1));
      };
      const ofSeveral = [
        { batchId: several.id, model: 'm1', requests: 4, tokens: 20 },
        { batchId: several.id, model: 'other', requests: 4, tokens: 10 },
      ];
      const whole = { batchId: claimed.id, model: 'm1', requests: 8, tokens: 200 };
      expect(await sums()).toEqual([...ofSeveral, whole]);
      const results = chunk!.lines.map(({ line }) => output(claimed, line));
      await on.store.results.record('w', results, [lease(chunk!)], start);
      expect(await sums()).toEqual([...ofSeveral, { ...whole, requests: 4, tokens: 100 }]);
      expect(await on.store.batches.openLines([])).toEqual([]);
    });

    test('return their states', async () => {
      const [a, b] = [await addBatch(on.store), await addBatch(on.store, { orgId: 'org_b' })];
      await on.store.batches.fail(b.id, { code: 'x', message: 'y', param: null, line: null }, start);
      const states = await on.store.batches.states([b.id, 'batch_unknown', a.id], start);
      expect(states.toSorted((x, y) => (x.id < y.id ? -1 : 1))).toEqual([
        {
          id: a.id,
          endpoint: a.endpoint,
          tier: null,
          tag: '',
          isBudgetUsedUp: false,
          isOrgDisabled: false,
          orgId: 'org_a',
          keyId: 'key_a',
          keyFamily: null,
          status: 'validating',
          closing: null,
          due: a.due,
          pausedAt: null,
          acceptUntil: a.acceptUntil,
          expiresAt: a.expiresAt,
          total: 8,
          ok: 0,
          err: 0,
        },
        expect.objectContaining({ id: b.id, orgId: 'org_b', closing: 'failed', acceptUntil: start + 2_000 }),
      ]);
      expect(await on.store.batches.states([], start)).toEqual([]);
    });
  });
}
