import { beforeEach, describe, expect, test } from 'vitest';
import type { Stores } from '../conformance.ts';
import { addBatch, claimOf, lease, makeKey, makeOrg, output, start } from '../fixtures.ts';

export function keyTests(on: Stores): void {
  describe('orgs', () => {
    test('are found by id and listed oldest first', async () => {
      const [first, second] = [makeOrg({ name: 'Zebra ✓' }), makeOrg({ name: '' })];
      await on.store.orgs.insert(second);
      await on.store.orgs.insert(first);
      expect(await on.store.orgs.get(first.id)).toEqual(first);
      expect(await on.store.orgs.get('org_unknown')).toBeUndefined();
      expect(await on.store.orgs.list()).toEqual([first, second]);
      expect(await on.store.orgs.list({ limit: 1 })).toEqual([first]);
      expect(await on.store.orgs.list({ limit: 5, after: first.id })).toEqual([second]);
      expect([...(await on.store.orgs.names([first.id, 'org_unknown']))]).toEqual([[first.id, 'Zebra ✓']]);
    });

    test('have unique ids', async () => {
      const org = makeOrg();
      await on.store.orgs.insert(org);
      await expect(on.store.orgs.insert({ ...org, name: 'Impostor' })).rejects.toThrow();
      expect(await on.store.orgs.list()).toEqual([org]);
    });

    test('change only the settings that are given, and keep the first time of a disabling', async () => {
      const org = makeOrg({ limits: { requestsPerMinute: 5, queuedTokens: { m1: 1, m2: 2 } } });
      await on.store.orgs.insert(org);
      const changes = { weight: 2, disabled: true, limits: { queuedTokens: { m1: null, m3: 3 } } };
      const changed = {
        ...org,
        weight: 2,
        disabledAt: start + 1,
        limits: { requestsPerMinute: 5, queuedTokens: { m2: 2, m3: 3 } },
      };
      expect(await on.store.orgs.update(org.id, changes, start + 1)).toEqual(changed);
      expect(await on.store.orgs.update(org.id, { disabled: true }, start + 2)).toEqual(changed);
      expect(await on.store.orgs.get(org.id)).toEqual(changed);
      expect(await on.store.orgs.update(org.id, { disabled: false, limits: null }, start)).toEqual({
        ...changed,
        disabledAt: null,
        limits: {},
      });
    });

    test('that are disabled get no chunks until they are enabled, and lose none', async () => {
      await on.store.orgs.insert(makeOrg({ id: 'org_a' }));
      await on.store.orgs.insert(makeOrg({ id: 'org_b' }));
      const [batch, other] = [await addBatch(on.store), await addBatch(on.store, { orgId: 'org_b' })];
      const [chunk] = await claimOf(on.store, 'w', batch.id, { count: 1 });
      const isDisabled = async () => (await on.store.batches.states([batch.id], start))[0]!.isOrgDisabled;
      expect([await isDisabled(), await on.store.orgs.disabled()]).toEqual([false, []]);
      await on.store.orgs.update('org_a', { disabled: true }, start + 1);
      expect(await isDisabled()).toBe(true);
      expect(await on.store.orgs.disabled()).toEqual([{ id: 'org_a', disabledAt: start + 1 }]);
      // Lines in flight are recorded, and leased chunks can be released.
      await on.store.results.record('w', [output(batch, 0)], [], start);
      expect(await on.store.batches.release('w', [lease(chunk!)])).toBe(1);
      expect(await claimOf(on.store, 'w', batch.id)).toEqual([]);
      expect((await claimOf(on.store, 'w', other.id)).length).toBeGreaterThan(0);
      await on.store.orgs.update('org_a', { disabled: false }, start + 2);
      expect((await claimOf(on.store, 'w', batch.id)).length).toBeGreaterThan(0);
    });

    test('lose no limit of two concurrent changes', async () => {
      const org = makeOrg();
      await on.store.orgs.insert(org);
      await Promise.all([
        on.store.orgs.update(org.id, { limits: { openBatches: 1 } }, start),
        on.store.orgs.update(org.id, { limits: { storedBytes: 2 } }, start),
      ]);
      expect((await on.store.orgs.get(org.id))?.limits).toEqual({ openBatches: 1, storedBytes: 2 });
    });
  });

  describe('keys', () => {
    beforeEach(() => on.store.orgs.insert(makeOrg({ id: 'org_a' })));

    test('are found by hash, with every field', async () => {
      const key = makeKey({ models: ['m1', 'm2'], expiresAt: start + 1, scopes: ['admin'] });
      expect(await on.store.keys.insert(key, 'h1')).toBe(true);
      expect((await on.store.keys.findByHashes(['h1'])).get('h1')).toEqual({
        ...key,
        org: { limits: {}, weight: 1, disabledAt: null },
      });
      expect((await on.store.keys.findByHashes(['H1'])).get('H1')).toBeUndefined();
      expect((await on.store.keys.findByHashes([''])).get('')).toBeUndefined();
    });

    test('for all models, for none, and for some are distinct', async () => {
      for (const models of [null, [], ['m1']]) {
        const key = makeKey({ models });
        await on.store.keys.insert(key, key.id);
        expect((await on.store.keys.findByHashes([key.id])).get(key.id)?.models).toEqual(models);
      }
    });

    test('with a known hash are rejected', async () => {
      const key = makeKey();
      await on.store.keys.insert(key, 'h1');
      expect(await on.store.keys.insert(makeKey({ orgId: 'org_b' }), 'h1')).toBe(false);
      expect(await on.store.keys.list()).toEqual([key]);
    });

    test('are listed oldest first, all or of one org', async () => {
      const keys = [makeKey(), makeKey({ orgId: 'org_b' }), makeKey()];
      for (const key of keys.toReversed()) await on.store.keys.insert(key, key.id);
      expect(await on.store.keys.list()).toEqual(keys);
      expect(await on.store.keys.list('org_a')).toEqual([keys[0], keys[2]]);
      expect(await on.store.keys.list('org_c')).toEqual([]);
      expect(await on.store.keys.list('org_a', { limit: 1 })).toEqual([keys[0]]);
      expect(await on.store.keys.list('org_a', { limit: 5, after: keys[0]!.id })).toEqual([keys[2]]);
      expect(await on.store.keys.list(undefined, { after: keys[0]!.id })).toEqual(keys.slice(1));
      expect([...(await on.store.keys.names([keys[1]!.id, 'key_x']))]).toEqual([
        [keys[1]!.id, keys[1]!.name],
      ]);
    });

    test('are revoked once: the first time stays', async () => {
      const key = makeKey();
      await on.store.keys.insert(key, 'h1');
      expect(await on.store.keys.revoke(key.id, start + 5)).toEqual({ ...key, revokedAt: start + 5 });
      expect(await on.store.keys.revoke(key.id, start + 9)).toEqual({ ...key, revokedAt: start + 5 });
      expect((await on.store.keys.findByHashes(['h1'])).get('h1')?.revokedAt).toBe(start + 5);
      expect(await on.store.keys.revoke('key_unknown', start)).toBeUndefined();
    });

    test('change only the settings that are given', async () => {
      const key = makeKey({ models: ['m1'], expiresAt: start + 9, limits: { openBatches: 1 } });
      await on.store.keys.insert(key, 'h1');
      expect(await on.store.keys.update(key.id, { name: 'ci', disabled: true }, start + 1)).toEqual({
        ...key,
        name: 'ci',
        disabledAt: start + 1,
      });
      const open = { models: null, expiresAt: null, disabled: false, scopes: ['admin' as const] };
      const others = {
        maxPriority: 3,
        serviceTier: 'flex' as const,
        limits: { openBatches: null, storedBytes: 2 },
      };
      const changed = {
        ...key,
        name: 'ci',
        models: null,
        expiresAt: null,
        scopes: ['admin'],
        maxPriority: 3,
        serviceTier: 'flex',
      };
      expect(await on.store.keys.update(key.id, { ...open, ...others }, start)).toEqual({
        ...changed,
        limits: { storedBytes: 2 },
      });
      expect(await on.store.keys.get(key.id)).toEqual({ ...changed, limits: { storedBytes: 2 } });
      expect(await on.store.keys.update('key_unknown', {}, start)).toBeUndefined();
      expect(await on.store.keys.get('key_unknown')).toBeUndefined();
    });

    test('are rotated: the new one has the settings, the old one ends', async () => {
      const key = makeKey({
        models: ['m1'],
        limits: { openBatches: 1 },
        expiresAt: start + 50,
        serviceTier: 'flex',
        lastUsedAt: 5,
      });
      await on.store.keys.insert(key, 'h1');
      const actor = { keyId: null, name: '', address: null, requestId: null };
      const rotate = (id: string, hash: string, endsAt: number | null, at = start + 1) =>
        on.store.keys.rotate(id, { id: `key_${hash}`, prefix: 'p', hash }, endsAt, { actor, at });
      const next = {
        ...key,
        id: 'key_h2',
        family: key.id,
        prefix: 'p',
        createdAt: start + 1,
        lastUsedAt: null,
      };
      const old = { ...key, expiresAt: start + 20, replacedBy: 'key_h2' };
      expect(await rotate(key.id, 'h2', start + 20)).toEqual({ key: next, old });
      expect((await on.store.keys.findByHashes(['h2'])).get('h2')).toMatchObject(next);
      expect(await on.store.keys.get(key.id)).toEqual(old);
      // Once: the end of an overlap is no expiry to pass on.
      expect(await rotate(key.id, 'h3', start + 40)).toEqual({ refused: old });
      const third = { ...next, id: 'key_h3' };
      expect(await rotate('key_h2', 'h3', null)).toEqual({
        key: third,
        old: { ...next, revokedAt: start + 1, replacedBy: 'key_h3' },
      });
      expect(await rotate('key_h2', 'h4', null)).toMatchObject({ refused: { replacedBy: 'key_h3' } });
      await on.store.keys.update('key_h3', { disabled: true }, start);
      expect(await rotate('key_h3', 'h4', null)).toMatchObject({ refused: { disabledAt: start } });
      await on.store.keys.update('key_h3', { disabled: false }, start);
      expect(await rotate('key_h3', 'h4', null, start + 50)).toEqual({ refused: third });
      await on.store.keys.revoke('key_h3', start);
      expect(await rotate('key_h3', 'h4', null)).toMatchObject({ refused: { revokedAt: start } });
      expect(await rotate('key_unknown', 'h4', null)).toBeUndefined();
      expect((await on.store.keys.list()).map(({ id }) => id)).toEqual([key.id, 'key_h2', 'key_h3']);
    });

    test('that are rotated twice at once have one successor', async () => {
      const key = makeKey();
      await on.store.keys.insert(key, 'h1');
      const actor = { keyId: null, name: '', address: null, requestId: null };
      const stores = [on.store, on.other, on.store, on.other];
      const outcomes = await Promise.all(
        stores.map((store, n) =>
          store.keys.rotate(key.id, { id: `key_n${n}`, prefix: 'p', hash: `n${n}` }, start + 9, {
            actor,
            at: start,
          }),
        ),
      );
      expect(outcomes.filter((outcome) => outcome && 'key' in outcome)).toHaveLength(1);
      expect(await on.store.keys.list()).toHaveLength(2);
    });

    test('that are revoked keep their settings, except for their budget', async () => {
      const key = makeKey();
      await on.store.keys.insert(key, 'h1');
      await on.store.keys.revoke(key.id, start);
      const revoked = { ...key, revokedAt: start };
      const changes = [
        { name: 'x' },
        { disabled: false },
        { expiresAt: null },
        { limits: { openBatches: 1 } },
      ];
      for (const change of changes)
        expect(await on.store.keys.update(key.id, change, start)).toEqual({ refused: revoked });
      const budget = { amount: 5, period: 'month' as const, hard: true };
      expect(await on.store.keys.update(key.id, { budget }, start)).toEqual({ ...revoked, budget });
      expect(await on.store.keys.get(key.id)).toEqual({ ...revoked, budget });
    });

    test('bring the limits, the weight and the state of their org', async () => {
      await on.store.keys.insert(makeKey(), 'h1');
      await on.store.orgs.update('org_a', { disabled: true, limits: { openBatches: 1 } }, start + 1);
      expect((await on.store.keys.findByHashes(['h1'])).get('h1')?.org).toEqual({
        limits: { openBatches: 1 },
        weight: 1,
        disabledAt: start + 1,
      });
    });

    test('remember their latest use, in whatever order uses arrive', async () => {
      const [a, b] = [makeKey(), makeKey()];
      await on.store.keys.insert(a, 'a');
      await on.store.keys.insert(b, 'b');
      await on.store.keys.touch([
        { id: b.id, at: start + 3 },
        { id: a.id, at: start + 2 },
        { id: 'key_unknown', at: start },
      ]);
      await on.store.keys.touch([{ id: a.id, at: start + 1 }]);
      await on.store.keys.touch([]);
      expect((await on.store.keys.list()).map((key) => key.lastUsedAt)).toEqual([start + 2, start + 3]);
    });
  });
}
