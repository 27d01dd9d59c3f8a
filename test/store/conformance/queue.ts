import { describe, expect, test } from 'vitest';
import type { Batch, Chunk } from '../../../src/core/batch.ts';
import type { Store } from '../../../src/store/store.ts';
import type { Claim, ClaimOptions, ClaimRequest } from '../../../src/store/contract/claim.ts';
import type { Stores } from '../conformance.ts';
import {
  addBatch,
  batchesToClose,
  claimOf,
  hour,
  lease,
  makeChunks,
  output,
  range,
  start,
  readyModels,
} from '../fixtures.ts';

/** Claims among many orgs, batches and models. */
export function queueTests(on: Stores): void {
  const suspects = { minKills: 2, max: 1, mayTakeAlone: true };
  const want = (fields: Partial<ClaimRequest> = {}): ClaimRequest => {
    const model = fields.model ?? 'm1';
    return { model, names: [model], lines: 0, chunks: 1, claimedDue: {}, moreOrgs: 0, ...fields };
  };
  const claim = async (
    wanted: ClaimRequest[],
    options: Partial<ClaimOptions> = {},
    worker = 'w',
    store?: Store,
  ) => (store ?? on.store).batches.claim(worker, wanted, { now: start, suspects, ...options });
  const ids = (chunks: readonly Chunk[]) => chunks.map(({ batchId, seq }) => `${batchId}/${seq}`).toSorted();
  const place = (batch: Batch, ...seqs: number[]) => seqs.map((seq) => `${batch.id}/${seq}`);

  describe('claiming in sets', () => {
    test('takes chunks of many batches and models at once, and returns the data of their batches', async () => {
      const late = await addBatch(on.store, { due: start + 2 });
      const early = await addBatch(on.store, { due: start + 1, orgId: 'org_b' });
      const other = await addBatch(on.store, {}, (batch) => makeChunks(batch, 4, 'm2'));
      const { chunks, batches, faults } = await claim(
        [want({ chunks: 3 }), want({ model: 'm2', lines: 5 }), want({ model: 'm3', lines: 9 })],
        { now: start + 7 },
      );
      expect(ids(chunks)).toEqual(
        [...place(late, 1), ...place(early, 1, 2), ...place(other, 1, 2)].toSorted(),
      );
      expect(chunks.find(({ batchId }) => batchId === other.id)).toEqual({
        ...makeChunks(other, 4, 'm2')[0],
        epoch: 1,
      });
      const file = await on.store.files.find(early.inputFileId);
      expect(batches).toHaveLength(3);
      expect(batches.find(({ id }) => id === early.id)).toEqual({
        id: early.id,
        tier: null,
        orgId: 'org_b',
        keyId: 'key_a',
        keyFamily: null,
        prices: early.prices,
        priceFactor: 0.5,
        endpoint: early.endpoint,
        due: early.due,
        expiresAt: early.expiresAt,
        weight: 1,
        blobId: file!.blobId,
      });
      expect(faults).toEqual([]);
      for (const { id } of [late, early, other])
        expect(await on.store.batches.find(id)).toMatchObject({
          status: 'in_progress',
          inProgressAt: start + 7,
        });
    });

    test('takes chunks up to the requested number of lines', async () => {
      await addBatch(on.store, { total: 40 });
      expect((await claim([want({ lines: 9, chunks: 0 })])).chunks).toHaveLength(3);
      expect((await claim([want({ lines: 0, chunks: 0 })])).chunks).toEqual([]);
      expect((await claim([])).chunks).toEqual([]);
    });

    test('takes as many small chunks as the requested lines need', async () => {
      for (let n = 0; n < 300; n++) await addBatch(on.store, { total: 1 });
      expect((await claim([want({ lines: 256, chunks: 0 })])).chunks).toHaveLength(256);
      expect((await claim([want({ lines: 256, chunks: 0 })])).chunks).toHaveLength(44);
    });

    test('matches a model by each of its names', async () => {
      const old = await addBatch(on.store, {}, (batch) => makeChunks(batch, 8, 'before'));
      const now = await addBatch(on.store, { due: start + 1 }, (batch) => makeChunks(batch, 8, 'now'));
      const { chunks } = await claim([want({ model: 'now', names: ['now', 'before'], chunks: 9 })]);
      expect(chunks.map(({ batchId, model }) => [batchId, model])).toEqual([
        [old.id, 'before'],
        [now.id, 'now'],
      ]);
    });

    test('takes the org with the least service, and its chunk that is due first', async () => {
      const first = await addBatch(on.store, { total: 12, due: start });
      const second = await addBatch(on.store, { total: 12, due: start + 5, orgId: 'org_b' });
      const urgent = await addBatch(on.store, { total: 4, due: start + 4, orgId: 'org_b' });
      const order: string[] = [];
      for (let n = 0; n < 5; n++) order.push(...ids((await claim([want()])).chunks));
      expect(order).toEqual([
        ...place(first, 1),
        ...place(urgent, 1),
        ...place(first, 2),
        ...place(second, 1),
        ...place(first, 3),
      ]);
    });

    test('gives an org that was away no credit for idling', async () => {
      await addBatch(on.store, { total: 400 });
      await claim([want({ chunks: 50 })]);
      await addBatch(on.store, { total: 400, orgId: 'org_b', due: start + 1 });
      const { chunks, batches } = await claim([want({ chunks: 20 })]);
      const orgOf = new Map(batches.map(({ id, orgId }) => [id, orgId]));
      const ofB = chunks.filter(({ batchId }) => orgOf.get(batchId) === 'org_b');
      expect(ofB).toHaveLength(10);
    });

    test('gives an org that was served and then idled no credit on its return', async () => {
      await addBatch(on.store, { total: 400 });
      await addBatch(on.store, { total: 4, orgId: 'org_b', due: start + 1 });
      const { batches: served } = await claim([want({ chunks: 2 })]);
      expect(served.map(({ orgId }) => orgId).toSorted()).toEqual(['org_a', 'org_b']);
      await claim([want({ chunks: 50 })]);
      await addBatch(on.store, { total: 400, orgId: 'org_b', due: start + 2 });
      const { chunks, batches } = await claim([want({ chunks: 20 })]);
      const orgOf = new Map(batches.map(({ id, orgId }) => [id, orgId]));
      expect(chunks.filter(({ batchId }) => orgOf.get(batchId) === 'org_b')).toHaveLength(10);
    });

    test('is equally fair for any number of processes and of batches per org', async () => {
      // Each org has the same amount of work, in one batch or in many.
      const orgs = range(0, 50).map((n) => `org_${n}`);
      for (const [n, orgId] of orgs.entries()) {
        const batches = [1, 2, 5, 20][n % 4]!;
        for (let at = 0; at < batches; at++)
          await addBatch(on.store, { orgId, due: start + at, total: 100 / batches }, (batch) =>
            makeChunks(batch, 1),
          );
      }
      const given = new Map<string, number>();
      await Promise.all(
        range(0, 4).map(async (n) => {
          for (let turn = 0; turn < 12; turn++) {
            const from = n % 2 === 0 ? on.store : on.other;
            const { chunks, batches } = await claim(
              [want({ chunks: 1 + ((n + turn) % 40) })],
              {},
              `w${n}`,
              from,
            );
            const orgOf = new Map(batches.map(({ id, orgId }) => [id, orgId]));
            for (const { batchId, est } of chunks) {
              const orgId = orgOf.get(batchId)!;
              given.set(orgId, (given.get(orgId) ?? 0) + est);
            }
          }
        }),
      );
      const shares = orgs.map((orgId) => given.get(orgId) ?? 0);
      const sum = shares.reduce((a, b) => a + b, 0);
      const jain = sum ** 2 / (shares.length * shares.reduce((a, b) => a + b ** 2, 0));
      expect(sum).toBeGreaterThan(30_000);
      expect(jain).toBeGreaterThan(0.98);
    });

    describe('of late batches', () => {
      const now = start + 3 * hour;
      const addLate = (fields: Partial<Batch> = {}) =>
        addBatch(on.store, { total: 400, due: start + 1, expiresAt: start + 4 * hour, ...fields });
      const orgsOf = ({ chunks, batches }: Claim) => {
        const orgOf = new Map(batches.map(({ id, orgId }) => [id, orgId]));
        return chunks.map(({ batchId }) => orgOf.get(batchId)!).toSorted();
      };
      const lateOrgs = () =>
        on.store.batches.claim('w', [want({ chunks: 0, moreLateOrgs: 9, claimedDue: { org_00: 0 } })], {
          now,
          suspects,
        });

      test('takes those of orgs behind a hundred others, in turns with them', async () => {
        for (const n of range(0, 100)) await addBatch(on.store, { total: 40, orgId: `org_${100 + n}` });
        await addLate({ orgId: 'org_z' });
        await on.store.batches.hurry(now, 9);
        const order: string[] = [];
        for (let n = 0; n < 6; n++) order.push(...orgsOf(await claim([want()], { now })));
        expect(order.filter((orgId) => orgId === 'org_z')).toHaveLength(3);
        expect(order[0]).toBe('org_z');
        const both = orgsOf(await claim([want({ chunks: 10 })], { now }, 'w', on.other));
        expect(both.filter((orgId) => orgId === 'org_z')).toHaveLength(5);
      });

      test('takes those of hundreds of orgs, and leaves half to the others', async () => {
        await addBatch(on.store, { total: 400, orgId: 'org_other' });
        for (const n of range(0, 200)) await addLate({ orgId: `org_${100 + n}`, total: 8 });
        // The others come first in every order.
        while ((await on.store.batches.hurry(now, 64)) > 0);
        const taken: string[] = [];
        for (let n = 0; n < 8; n++) taken.push(...orgsOf(await claim([want({ chunks: 5 })], { now })));
        expect(taken).toHaveLength(40);
        expect(new Set(taken).size).toBeGreaterThan(20);
      });

      test('brings one for each org beyond the minimums', async () => {
        for (const n of range(0, 30))
          await addBatch(on.store, { total: 40, orgId: `org_${String(n).padStart(2, '0')}` });
        await claim([want({ chunks: 1 })]);
        expect((await lateOrgs()).chunks).toEqual([]);
        const late = await addLate({ orgId: 'org_25' });
        await on.store.batches.hurry(now, 9);
        expect(ids((await lateOrgs()).chunks)).toEqual(place(late, 1));
      });

      test('finds none once they are claimed, paused or over', async () => {
        for (const n of range(0, 3)) await addBatch(on.store, { total: 40, orgId: `org_0${n}` });
        const paused = await addLate({ orgId: 'org_01' });
        const ending = await addLate({ orgId: 'org_02' });
        await on.store.batches.hurry(now, 9);
        await on.store.batches.pause('org_01', paused.id, now);
        await on.store.batches.cancel('org_02', ending.id, now, 0);
        expect((await lateOrgs()).chunks).toEqual([]);
        await on.store.batches.resume('org_01', paused.id, now);
        expect(ids((await lateOrgs()).chunks)).toEqual(place(paused, 1));
      });
    });

    test('takes one chunk more if it is due before the claimed ones of its org', async () => {
      const large = await addBatch(on.store, { total: 40, due: start + 9 });
      const other = await addBatch(on.store, { total: 40, due: start, orgId: 'org_b' });
      await claim([want({ chunks: 2 })]);
      const inHand = want({ chunks: 0, claimedDue: { org_a: start + 9 } });
      expect((await claim([inHand])).chunks).toEqual([]);
      const small = await addBatch(on.store, { total: 8, due: start + 2 });
      expect(ids((await claim([inHand])).chunks)).toEqual(place(small, 1));
      expect([large, other]).toHaveLength(2);
    });

    test('takes a chunk of each org without claimed lines beyond the minimums', async () => {
      const held = await addBatch(on.store, { total: 40 });
      const beyond = want({ chunks: 0, claimedDue: { org_a: start }, moreOrgs: 9 });
      expect((await claim([beyond])).chunks).toEqual([]);
      const others = [];
      for (const orgId of ['org_b', 'org_0', 'org_c'])
        others.push(await addBatch(on.store, { total: 40, orgId }));
      const [first] = (await claim([{ ...beyond, moreOrgs: 1 }])).batches;
      expect(others.map(({ id }) => id)).toContain(first!.id);
      const rest = others.filter(({ id }) => id !== first!.id);
      const claimedDue = { org_a: start, [first!.orgId]: start };
      const { chunks } = await claim([{ ...beyond, claimedDue }]);
      expect(ids(chunks)).toEqual(rest.flatMap((batch) => place(batch, 1)).toSorted());
      expect(held.total).toBe(40);
    });

    test('finds orgs without claimed lines behind many that have some', async () => {
      const orgIds = range(0, 12).map((n) => `org_${String(n).padStart(2, '0')}`);
      for (const orgId of orgIds) await addBatch(on.store, { total: 40, orgId });
      const served = Object.fromEntries(orgIds.slice(0, -1).map((orgId) => [orgId, start]));
      const { batches } = await claim([want({ chunks: 0, claimedDue: served, moreOrgs: 9 })]);
      expect(batches.map(({ orgId }) => orgId)).toEqual(orgIds.slice(-1));
    });

    test('skips excluded batches and those whose windows are over', async () => {
      const passed = await addBatch(on.store, { total: 4 });
      const over = await addBatch(on.store, { total: 4, expiresAt: start });
      const open = await addBatch(on.store, { total: 4, due: start + 1 });
      const { chunks } = await claim([want({ chunks: 9 })], { except: [passed.id] });
      expect(ids(chunks)).toEqual(place(open, 1));
      expect((await on.store.batches.find(over.id))?.status).toBe('validating');
      expect(ids((await claim([want({ chunks: 9 })])).chunks)).toEqual(place(passed, 1));
    });

    test('takes few suspects, and one of the worst alone', async () => {
      const batch = await addBatch(on.store, { total: 24 });
      const die = async (count: number) => {
        await claimOf(on.store, 'dead', batch.id, { count });
        await on.store.workers.reap(start);
      };
      await die(6);
      await die(6);
      await on.store.batches.claim('dead', [want({ chunks: 4 })], {
        now: start,
        suspects: { minKills: 2, max: 4, mayTakeAlone: false },
      });
      await on.store.workers.reap(start);
      const kills = async (most: number, alone: boolean) => {
        const { chunks } = await claim([want({ chunks: 9 })], {
          suspects: { minKills: 2, max: most, mayTakeAlone: alone },
        });
        await on.store.batches.release('w', chunks.map(lease));
        return chunks.map((chunk) => chunk.kills).toSorted((a, b) => a - b);
      };
      expect(await kills(0, false)).toEqual([]);
      expect(await kills(1, false)).toEqual([2]);
      expect(await kills(9, false)).toEqual([2, 2]);
      expect(await kills(0, true)).toEqual([3]);
    });

    test('serves an org although none of its most urgent chunks can be taken', async () => {
      await addBatch(on.store, { total: 300 }, (batch) =>
        makeChunks(batch, 1).map((chunk) => ({ ...chunk, kills: 2 })),
      );
      const other = await addBatch(on.store, { total: 12, orgId: 'org_b', due: start + 1 });
      const options = { suspects: { minKills: 2, max: 0, mayTakeAlone: false } };
      expect(ids((await claim([want({ chunks: 2 })], options)).chunks)).toEqual(place(other, 1, 2));
      expect(ids((await claim([want({ chunks: 2 })], options)).chunks)).toEqual(place(other, 3));
    });

    test('handles many orgs under many names', async () => {
      const names = range(0, 5).map((n) => `name${n}`);
      for (const n of range(0, 60))
        await addBatch(on.store, { orgId: `org_${n}`, total: 5 }, (batch) =>
          makeChunks(batch, 1).map((chunk, at) => ({ ...chunk, model: names[at]! })),
        );
      const { chunks } = await claim([want({ names, chunks: 60 })]);
      expect(new Set(chunks.map(({ batchId }) => batchId)).size).toBe(60);
    });

    test('concurrently gives every chunk of many batches to one process', async () => {
      const batches: Batch[] = [];
      for (let n = 0; n < 12; n++)
        batches.push(await addBatch(on.store, { total: 20, orgId: `org_${n % 3}` }));
      const work = async (worker: string, store: Store) => {
        const mine: string[] = [];
        for (;;) {
          const { chunks } = await claim([want({ chunks: 3 })], {}, worker, store);
          if (chunks.length === 0) return mine;
          mine.push(...ids(chunks));
          const results = chunks.flatMap(({ batchId, lines }) =>
            lines.map(({ line }) => output(batchId, line)),
          );
          await store.results.record(worker, results, chunks.map(lease), start);
        }
      };
      const all = await Promise.all([
        work('a', on.store),
        work('b', on.other),
        work('c', on.store),
        work('d', on.other),
      ]);
      expect(all.flat().toSorted()).toEqual(
        batches.flatMap((batch) => place(batch, 1, 2, 3, 4, 5)).toSorted(),
      );
      for (const { id } of batches) expect((await on.store.batches.find(id))?.ok).toBe(20);
    });
  });

  describe('closing chunks', () => {
    test('are those of batches whose end is decided, the most urgent first', async () => {
      await addBatch(on.store);
      const [late, early] = [
        await addBatch(on.store, { due: start + 9 }),
        await addBatch(on.store, { due: start + 5 }),
      ];
      expect(await batchesToClose(on.store)).toEqual([]);
      for (const { id } of [late, early]) await on.store.batches.cancel('org_a', id, start, 0);
      expect(await batchesToClose(on.store)).toEqual([early.id, late.id]);
      const passed = await on.store.batches.claimClosings('w', 1, [early.id]);
      expect(ids(passed.chunks)).toEqual(place(late, 0));
      const { chunks } = await on.store.batches.claimClosings('w', 9);
      expect(chunks).toMatchObject([{ batchId: early.id, seq: 0, epoch: 2, lines: [] }]);
      expect((await on.other.batches.claimClosings('v', 9)).chunks).toEqual([]);
    });
  });

  describe('a paused batch', () => {
    test('has nothing to claim until it is resumed, even if chunks are released meanwhile', async () => {
      const batch = await addBatch(on.store, { total: 20 });
      const chunks = await claimOf(on.store, 'w', batch.id, { count: 3 });
      await on.store.workers.beat('dead', { interactive: {} });
      const [taken] = await claimOf(on.store, 'dead', batch.id);
      expect(await on.store.batches.pause('org_b', batch.id, start)).toBe(false);
      expect(await on.store.batches.pause('org_a', batch.id, start + 3)).toBe(true);
      expect(await on.store.batches.pause('org_a', batch.id, start + 4)).toBe(false);
      expect(await on.store.batches.states([batch.id], start)).toMatchObject([{ pausedAt: start + 3 }]);
      expect(await on.store.batches.release('w', [lease(chunks[0]!)])).toBe(1);
      expect(await on.store.batches.split('w', lease(chunks[1]!))).toBe(true);
      await on.store.workers.clear();
      await on.store.workers.reap(start);
      expect(await on.store.batches.release('dead', [lease(taken!)])).toBe(0);
      expect(await readyModels(on.store)).toEqual([]);
      expect((await claim([want({ chunks: 99 })])).chunks).toEqual([]);
      expect(await on.store.batches.resume('org_a', batch.id, start + 9)).toBe(true);
      expect(await on.store.batches.resume('org_a', batch.id, start + 9)).toBe(false);
      const again = await claimOf(on.store, 'v', batch.id, { count: 99 });
      expect(again.flatMap(({ lines }) => lines.map(({ line }) => line)).toSorted((a, b) => a - b)).toEqual(
        range(0, 20),
      );
    });

    test('may end, and then has no lines left to run', async () => {
      const batch = await addBatch(on.store);
      await on.store.batches.pause('org_a', batch.id, start);
      await on.store.batches.cancel('org_a', batch.id, start, 0);
      expect(await on.store.batches.resume('org_a', batch.id, start + 9)).toBe(false);
      expect((await claim([want()])).chunks).toEqual([]);
      expect(await batchesToClose(on.store)).toEqual([batch.id]);
    });
  });
}
