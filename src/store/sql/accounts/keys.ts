import type { Db } from '../../db.ts';
import type { KeyStore } from '../../contract/accounts.ts';
import type { ApiKey, KeyOrg } from '../../../core/org.ts';
import { append } from './audit.ts';
import { isoSeconds } from '../../../base/clock.ts';
import { changedFields } from '../../../core/audit.ts';
import { keySettings } from '../../../core/settings.ts';
import { tableOf } from '../table.ts';
import { type BudgetColumns, budgetOf, changedBudget, columnsOf } from './budget-columns.ts';
import { keyset, namesOf } from './keyset.ts';
import { changedSettings } from './settings.ts';
import { copySpending } from './spending.ts';

type StoredKey = Omit<ApiKey, 'budget'>;
type KeyRow = StoredKey & BudgetColumns;

const json = ['scopes', 'models', 'limits'] as const;
const columns = [
  'id orgId name prefix scopes models createdAt expiresAt revokedAt lastUsedAt disabledAt limits maxPriority',
  'budget budgetPeriod budgetHard usedUpAt hash',
] as const;
const keys = tableOf<KeyRow & { hash: string }, 'hash'>('api_keys', { json, unread: ['hash'] })(...columns);
/** The hashes are read only to tell the keys of a group apart. */
const hashedKeys = tableOf<KeyRow & { hash: string }>('api_keys', { json })(...columns);

function toKey(row: KeyRow): ApiKey {
  const { budget: _, budgetPeriod: _period, budgetHard: _hard, usedUpAt: _at, ...key } = row;
  return { ...key, budget: budgetOf(row) };
}

const keyOrgs = tableOf<KeyOrg & { id: string }>('orgs', { json: ['limits'] })('id limits weight disabledAt');

export function createKeys(db: Db): KeyStore {
  return {
    insert: (key, hash, stamp) =>
      db.tx(async (q) => {
        const row = { ...key, ...columnsOf(key.budget), hash };
        const made = await keys.insert(q, [row], 'ON CONFLICT (hash) DO NOTHING RETURNING id');
        const change = {
          action: 'key.create',
          target: key.id,
          before: null,
          after: keySettings(key),
        } as const;
        if (made.length > 0 && stamp) await append(q, stamp, change);
        return made.length > 0;
      }),

    async findByHashes(hashes) {
      const found = await hashedKeys.among(db, 'hash', hashes);
      const orgs = await keyOrgs.among(db, 'id', [...new Set(found.map(({ orgId }) => orgId))]);
      const orgOf = new Map(orgs.map(({ id, ...org }) => [id, org]));
      return new Map(
        found.flatMap(({ hash, ...key }) => {
          const org = orgOf.get(key.orgId);
          return org ? [[hash, { ...toKey(key), org }] as const] : [];
        }),
      );
    },
    async get(id) {
      const row = await keys.first(db, { id });
      return row && toKey(row);
    },
    list: async (orgId, page) => (await keys.all(db, ...keyset(page, { 'org_id = ?': orgId }))).map(toKey),
    names: (ids) => namesOf(db, 'api_keys', ids),

    revoke: (id, at, stamp) =>
      db.tx(async (q) => {
        const before = await keys.first(q, { id }, q.forUpdate);
        if (!before || before.revokedAt !== null) return before && toKey(before);
        const [key] = await keys.update(q, { revokedAt: at }, { id });
        const changed = { before: { revoked_at: null }, after: { revoked_at: isoSeconds(at) } };
        if (stamp) await append(q, stamp, { action: 'key.revoke', target: id, ...changed });
        return toKey(key!);
      }),

    update: (id, { limits, disabled, budget, ...changes }, now, stamp) =>
      db.tx(async (q) => {
        const before = await keys.first(q, { id }, q.forUpdate);
        if (!before) return undefined;
        const settings = changedSettings(before, { limits, disabled }, now);
        const [row] = await keys.update(q, { ...changes, ...settings, ...changedBudget(budget) }, { id });
        const key = toKey(row!);
        const changed = changedFields(keySettings(toKey(before)), keySettings(key));
        if (stamp && changed) await append(q, stamp, { action: 'key.update', target: id, ...changed });
        return key;
      }),

    rotate: (id, { hash, ...next }, endsAt, stamp) =>
      db.tx(async (q) => {
        const { at } = stamp;
        const old = await keys.first(q, { id }, q.forUpdate);
        if (!old) return undefined;
        if (old.revokedAt !== null || old.disabledAt !== null || (old.expiresAt ?? at + 1) <= at)
          return 'inactive';
        const row = { ...old, ...next, createdAt: at, lastUsedAt: null };
        await keys.insert(q, [{ ...row, hash }]);
        // The budget goes on where it was.
        await copySpending(q, id, row.id);
        const key = toKey(row);
        const end =
          endsAt === null
            ? ({ revokedAt: at } as const)
            : ({ expiresAt: Math.min(endsAt, old.expiresAt ?? endsAt) } as const);
        await keys.change(q, end, { id });
        await append(q, stamp, {
          action: 'key.create',
          target: key.id,
          before: null,
          after: keySettings(key),
        });
        const ended = endingOf({ ...old, ...end });
        await append(q, stamp, {
          action: 'key.rotate',
          target: id,
          before: { ...endingOf(old), replaced_by: null },
          after: { ...ended, replaced_by: key.id },
        });
        return key;
      }),

    // By id: one lock order for all processes.
    touch: (uses) =>
      db.tx(async (q) => {
        for (const { id, at } of uses.toSorted((a, b) => (a.id < b.id ? -1 : 1)))
          await keys.change(q, { lastUsedAt: at }, { id, '(last_used_at IS NULL OR last_used_at < ?)': at });
      }),
  };
}

function endingOf({ expiresAt, revokedAt }: Pick<ApiKey, 'expiresAt' | 'revokedAt'>) {
  return { expires_at: nullableIso(expiresAt), revoked_at: nullableIso(revokedAt) };
}

function nullableIso(at: number | null): string | null {
  return at === null ? null : isoSeconds(at);
}
