import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Batch, Chunk } from '../../../src/core/batch.ts';
import type { CallerLimits } from '../../../src/core/limits.ts';
import type { QueueLimit } from '../../../src/core/queue-limits.ts';
import type { Stores } from '../conformance.ts';
import {
  addBatch,
  claimOf,
  failure,
  hour,
  lease,
  makeBatch,
  makeChunks,
  makeFile,
  makeOrg,
  output,
  range,
  start,
} from '../fixtures.ts';

/** Limits on the unfinished work of orgs and keys. */
export function queuedWorkTests(on: Stores): void {
  const add = (fields: Partial<Batch> = {}, chunks?: (batch: Batch) => Chunk[]) =>
    addBatch(on.store, { total: 10, est: 100, ...fields }, chunks);
  const queued = (orgId = 'org_a', keyId = 'key_a') => on.store.batches.queued(orgId, keyId);
  /** Chunks of several models, of two lines each with ten tokens a line. */
  const mixed = (batch: Batch, ...models: string[]) =>
    makeChunks(batch, 2).map((chunk, at) => ({ ...chunk, est: 20, model: models[at % models.length]! }));

  describe('the queued work of an org', () => {
    test('is the requests without a result of its unfinished batches, and their estimated tokens by model', async () => {
      const one = await add();
      await add({ keyId: 'key_b', model: 'm2', total: 5, est: 33 }, (batch) => makeChunks(batch, 4, 'm2'));
      await add({ orgId: 'org_b' });
      expect(await queued()).toEqual({
        org: { batches: 2, requests: 15, tokens: { m1: 100, m2: 33 } },
        key: { batches: 1, requests: 10, tokens: { m1: 100 } },
      });
      await claimOf(on.store, 'w', one.id, { count: 3 });
      await on.store.results.record('w', [output(one, 0), failure(one, 1), output(one, 2)], [], start);
      expect((await queued()).org).toEqual({ batches: 2, requests: 12, tokens: { m1: 70, m2: 33 } });
      expect(await queued('org_c')).toEqual({
        org: { batches: 0, requests: 0, tokens: {} },
        key: { batches: 0, requests: 0, tokens: {} },
      });
    });

    test('counts the requests of a batch of several models until their chunk is finished', async () => {
      const batch = await add({ model: null }, (made) => mixed(made, 'm1', 'm2'));
      expect((await queued()).org).toMatchObject({ requests: 10, tokens: { m1: 60, m2: 40 } });
      const [chunk] = await claimOf(on.store, 'w', batch.id);
      const lines = chunk!.lines.map(({ line }) => output(batch, line));
      await on.store.results.record('w', lines.slice(0, 1), [], start);
      expect((await queued()).org).toMatchObject({ requests: 9, tokens: { m1: 60, m2: 40 } });
      await on.store.results.record('w', lines.slice(1), [lease(chunk!)], start);
      expect((await queued()).org).toMatchObject({ requests: 8, tokens: { m1: 40, m2: 40 } });
    });

    test.each([
      ['cancelled', (id: string) => on.store.batches.cancel('org_a', id, start, 500)],
      [
        'failed',
        (id: string) =>
          on.store.batches.fail(id, { code: 'x', message: 'y', param: null, line: null }, start),
      ],
      ['expired', () => on.store.batches.expire(start + 25 * hour, 10)],
    ])('ends with the decision that a batch is %s, and counts it as open until then', async (_, end) => {
      const [one] = [await add(), await add({ model: null }, (made) => mixed(made, 'm1', 'm2'))];
      await end(one.id);
      const { requests, tokens } = (await queued()).org;
      expect([requests, tokens]).toEqual(_ === 'expired' ? [0, { m1: 0 }] : [10, { m1: 60, m2: 40 }]);
    });

    test('is exact after any sequence of claims, results, releases and deaths', async () => {
      const step = fc.oneof(
        fc.record({ what: fc.constant('claim' as const), count: fc.integer({ min: 1, max: 3 }) }),
        fc.record({ what: fc.constant('record' as const), count: fc.integer({ min: 1, max: 4 }) }),
        fc.record({ what: fc.constant('release' as const), count: fc.constant(0) }),
        fc.record({ what: fc.constant('die' as const), count: fc.constant(0) }),
      );
      const sequence = fc.array(step, { minLength: 4, maxLength: 12 });
      await fc.assert(
        fc.asyncProperty(sequence, async (steps) => {
          const batch = await add({ orgId: `org_${makeOrg().id}`, total: 24, est: 240 });
          const recorded = new Set<number>();
          let held: Chunk[] = [];
          for (const { what, count } of steps) {
            if (what === 'claim') held.push(...(await claimOf(on.store, 'w', batch.id, { count })));
            else if (what === 'record') {
              const lines = held.flatMap((chunk) => chunk.lines.map(({ line }) => line));
              const some = lines.filter((line) => !recorded.has(line)).slice(0, count);
              await on.store.results.record(
                'w',
                some.map((line) => output(batch, line)),
                [],
                start,
              );
              for (const line of some) recorded.add(line);
            } else {
              if (what === 'release') await on.store.batches.release('w', held.map(lease));
              else await on.store.workers.leave('w');
              held = [];
            }
            const left = 24 - recorded.size;
            const { org } = await queued(batch.orgId);
            expect([org.requests, org.tokens['m1'] ?? 0]).toEqual([left, left * 10]);
          }
        }),
        { numRuns: 15 },
      );
    });
  });

  describe('a new batch', () => {
    const attempt = async (limits: CallerLimits, fields: Partial<Batch> = {}, store = on.store) => {
      const file = makeFile();
      await on.store.files.insert(file, undefined, start);
      const batch = makeBatch({ total: 8, est: 200, inputFileId: file.id, ...fields });
      return store.batches.create(batch, makeChunks(batch), { limits, now: start });
    };
    const exceeded = (...limits: QueueLimit[]) => ({ outcome: 'limit_exceeded', exceeded: limits });

    test('must fit each limit of its org and of its key, and leaves nothing if it does not', async () => {
      await add({ total: 8, est: 200 });
      await add({ total: 8, est: 200, keyId: 'key_b' });
      const tokens = { name: 'queued_tokens', model: 'm1', adds: 200 } as const;
      expect(await attempt({ org: { queuedTokens: { m1: 599 } }, key: {} })).toEqual(
        exceeded({ ...tokens, owner: 'org', limit: 599, used: 400 }),
      );
      expect(await attempt({ org: {}, key: { queuedTokens: { m1: 399 }, openBatches: 1 } })).toEqual(
        exceeded(
          { name: 'open_batches', owner: 'key', model: null, limit: 1, used: 1, adds: 1 },
          { ...tokens, owner: 'key', limit: 399, used: 200 },
        ),
      );
      expect(await attempt({ org: { queuedRequests: 23 }, key: {} })).toEqual(
        exceeded({ name: 'queued_requests', owner: 'org', model: null, limit: 23, used: 16, adds: 8 }),
      );
      expect((await queued()).org).toEqual({ batches: 2, requests: 16, tokens: { m1: 400 } });
      const all = { openBatches: 3, queuedRequests: 24, queuedTokens: { m1: 600, other: 1 } };
      expect(await attempt({ org: all, key: { ...all, openBatches: 2 } })).toEqual({ outcome: 'created' });
    });

    test('of several processes at once never exceeds a limit', async () => {
      await on.store.orgs.insert(makeOrg({ id: 'org_a' }));
      const limits = { org: { queuedTokens: { m1: 700 } }, key: {} };
      const outcomes = await Promise.all(
        range(0, 8).map((i) => attempt(limits, {}, i % 2 === 0 ? on.store : on.other)),
      );
      expect(outcomes.filter(({ outcome }) => outcome === 'created')).toHaveLength(3);
      expect((await queued()).org.tokens).toEqual({ m1: 600 });
    });
  });
}
