import { describe, expect, test } from 'vitest';
import { createAuditCheck } from '../../../src/core/audit-chain.ts';
import { type Actor, type AuditQuery, auditId } from '../../../src/core/audit.ts';
import type { Stores } from '../conformance.ts';
import { makeKey, makeOrg, range, start } from '../fixtures.ts';

const actor: Actor = { keyId: 'key_admin', name: 'ops', address: '203.0.113.7', requestId: 'req_1' };
const stamp = { actor, at: start };

export function auditTests(on: Stores): void {
  const list = (query: Partial<AuditQuery> = {}) =>
    on.store.audit.list({ order: 'asc', limit: 100, ...query });

  /** First fault of the stored log. */
  async function fault() {
    const check = createAuditCheck();
    const { entries, head } = await list({ limit: 1_000 });
    for (const entry of entries) check.add(entry);
    return check.end(head);
  }

  describe('the audit log', () => {
    test('is empty at first', async () => {
      expect(await list()).toEqual({ entries: [], hasMore: false, head: { sequence: 0, hash: '' } });
    });

    test('has the changed settings of an org, its name in the API, and no entry for what changes nothing', async () => {
      const org = makeOrg({ name: 'a', limits: { openBatches: 1 } });
      await on.store.orgs.insert(org, { amount: 5e9, period: 'month' }, stamp);
      await on.store.orgs.update(org.id, { weight: 1 }, start, stamp);
      await on.store.orgs.update(
        org.id,
        { name: 'b', limits: { openBatches: 2 }, budget: null },
        start + 1_500,
        { actor, at: start + 1_500 },
      );
      await on.store.orgs.update(org.id, { disabled: true }, start);
      const { entries, head } = await list();
      expect(entries).toMatchObject([
        {
          id: 'audit_000000000001',
          action: 'org.create',
          target: org.id,
          before: null,
          after: {
            name: 'a',
            weight: 1,
            limits: { open_batches: 1 },
            disabled: false,
            budget: { amount: '5', period: 'month' },
          },
          previous_hash: '',
        },
        {
          id: 'audit_000000000002',
          object: 'audit_entry',
          at: new Date(start + 1_500).toISOString(),
          actor: { key_id: 'key_admin', name: 'ops' },
          action: 'org.update',
          target: org.id,
          before: { name: 'a', limits: { open_batches: 1 }, budget: { amount: '5', period: 'month' } },
          after: { name: 'b', limits: { open_batches: 2 }, budget: null },
          address: '203.0.113.7',
          request_id: 'req_1',
          previous_hash: entries[0]!.hash,
        },
      ]);
      expect(head).toEqual({ sequence: 2, hash: entries[1]!.hash });
      expect(await fault()).toBeUndefined();
    });

    test('has the changes of a key without its hash, and a revocation once', async () => {
      const key = makeKey({ name: 'ci' });
      await on.store.keys.insert(key, 'secret hash', stamp);
      await on.store.keys.insert(makeKey(), 'secret hash', stamp);
      await on.store.keys.update(key.id, { expiresAt: start + 5_000, maxPriority: 3 }, start, stamp);
      await on.store.keys.revoke(key.id, start, stamp);
      await on.store.keys.revoke(key.id, start + 1, stamp);
      const { entries } = await list();
      expect(entries.map(({ action, before }) => [action, before])).toEqual([
        ['key.create', null],
        ['key.update', { priority: 9, expires_at: null }],
        ['key.revoke', { revoked_at: null }],
      ]);
      expect(JSON.stringify(entries)).not.toContain('secret');
    });

    test('is undone with its change', async () => {
      const org = makeOrg();
      await on.store.orgs.insert(org, undefined, stamp);
      await expect(on.store.orgs.insert(org, undefined, stamp)).rejects.toThrow();
      expect((await list()).entries).toHaveLength(1);
      expect(await fault()).toBeUndefined();
    });

    test('stays one chain with concurrent changes of two processes', async () => {
      const stores = [on.store, on.other];
      await Promise.all(
        range(0, 40).map((n) =>
          stores[n % 2]!.orgs.insert(makeOrg({ id: `org_${n}` }), undefined, { actor, at: start + n }),
        ),
      );
      expect((await list()).entries.map(({ id }) => id)).toEqual(range(1, 41).map(auditId));
      expect(await fault()).toBeUndefined();
    });

    test('is listed in pages, in both orders, with filters', async () => {
      const orgs = range(0, 5).map(() => makeOrg());
      for (const org of orgs) await on.store.orgs.insert(org, undefined, stamp);
      const other = { ...actor, keyId: 'key_other' };
      await on.store.orgs.update(orgs[2]!.id, { name: 'x' }, start, { actor: other, at: start });
      const ids = async (query: Partial<AuditQuery>) => {
        const { entries, hasMore } = await list(query);
        return [entries.map(({ id }) => Number(id.slice(-2))), hasMore];
      };
      expect(await ids({ limit: 4 })).toEqual([[1, 2, 3, 4], true]);
      expect(await ids({ limit: 4, after: 4 })).toEqual([[5, 6], false]);
      expect(await ids({ limit: 2, order: 'desc' })).toEqual([[6, 5], true]);
      expect(await ids({ limit: 5, order: 'desc', after: 5 })).toEqual([[4, 3, 2, 1], false]);
      expect(await ids({ actor: 'key_other' })).toEqual([[6], false]);
      expect(await ids({ action: 'org.update' })).toEqual([[6], false]);
      expect(await ids({ target: orgs[2]!.id })).toEqual([[3, 6], false]);
      expect(await ids({ target: orgs[2]!.id, action: 'org.create' })).toEqual([[3], false]);
    });
  });
}
