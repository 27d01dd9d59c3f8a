import type { Db, Queries } from '../../db.ts';
import type { KeyStore } from '../../contract/accounts.ts';
import type { Budget } from '../../../core/budget.ts';
import { type ApiKey, isActive, isExpired, type KeyOrg } from '../../../core/org.ts';
import { append } from './audit.ts';
import { isoSeconds } from '../../../base/clock.ts';
import { type AuditChange, changedFields } from '../../../core/audit.ts';
import { keySettings } from '../../../core/settings.ts';
import { tableOf } from '../table.ts';
import { type BudgetColumns, budgetOf, changedBudget, columnsOf } from './budget-columns.ts';
import { keyset, namesOf } from './keyset.ts';
import { changedSettings } from './settings.ts';
import { addWait } from './budget-waits.ts';
import { familyMembers } from './families.ts';
import { endSessions } from './sessions.ts';

type StoredKey = Omit<ApiKey, 'budget'>;
type KeyRow = StoredKey & BudgetColumns;

const json = ['scopes', 'models', 'limits'] as const;
const columns = [
  'id orgId family replacedBy name prefix scopes models createdAt expiresAt revokedAt lastUsedAt disabledAt limits maxPriority serviceTier',
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
        if (made.length > 0 && stamp) await append(q, stamp, creationOf(key));
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
        const before = await lockFamily(q, id);
        if (!before) return undefined;
        // The unfinished batches of a revoked key still spend.
        const isBudgetOnly =
          limits === undefined && disabled === undefined && Object.keys(changes).length === 0;
        if (before.revokedAt !== null && !isBudgetOnly) return { refused: toKey(before) };
        await changeBudget(q, before, budget, now);
        const settings = changedSettings(before, { limits, disabled }, now);
        const [row] = await keys.update(q, { ...changes, ...settings }, { id });
        // Sessions end with the key, and do not return when it is enabled or prolonged.
        const isOrWasInactive =
          row!.disabledAt !== null || before.disabledAt !== null || isExpired(before, now);
        if (isOrWasInactive) await endSessions(q, id);
        const key = toKey(row!);
        const changed = changedFields(keySettings(toKey(before)), keySettings(key));
        if (stamp && changed) await append(q, stamp, { action: 'key.update', target: id, ...changed });
        return key;
      }),

    rotate: (id, { hash, ...next }, endsAt, stamp) =>
      db.tx(async (q) => {
        const { at } = stamp;
        const old = await lockFamily(q, id);
        if (!old) return undefined;
        if (!isActive(old, at) || old.replacedBy !== null) return { refused: toKey(old) };
        const row = { ...old, ...next, family: old.family ?? id, createdAt: at, lastUsedAt: null };
        await keys.insert(q, [{ ...row, hash }]);
        const key = toKey(row);
        const end =
          endsAt === null
            ? ({ revokedAt: at } as const)
            : ({ expiresAt: Math.min(endsAt, old.expiresAt ?? endsAt) } as const);
        const ending = { ...end, replacedBy: key.id };
        await keys.change(q, ending, { id });
        await append(q, stamp, creationOf(key));
        const before = { ...endingOf(old), replaced_by: null };
        const after = { ...endingOf({ ...old, ...end }), replaced_by: key.id };
        await append(q, stamp, { action: 'key.rotate', target: id, before, after });
        return { key, old: toKey({ ...old, ...ending }) };
      }),

    // By id: one lock order for all processes.
    touch: (uses) =>
      db.tx(async (q) => {
        for (const { id, at } of uses.toSorted((a, b) => (a.id < b.id ? -1 : 1)))
          await keys.change(q, { lastUsedAt: at }, { id, '(last_used_at IS NULL OR last_used_at < ?)': at });
      }),
  };
}

/** Locks a key and its family, in one order for all processes: the keys of a family have one budget. */
async function lockFamily(q: Queries, id: string): Promise<KeyRow | undefined> {
  const key = await keys.first(q, { id });
  if (!key) return undefined;
  const family = await keys.all(q, familyMembers(key.family ?? id), `ORDER BY id ${q.forUpdate}`);
  return family.find((member) => member.id === id);
}

/** Changes the budget of a whole family. */
async function changeBudget(
  q: Queries,
  of: KeyRow,
  budget: Budget | null | undefined,
  now: number,
): Promise<void> {
  if (budget === undefined) return;
  await keys.change(q, changedBudget(budget), familyMembers(of.family ?? of.id));
  if (budget === null && of.usedUpAt !== null && of.budgetHard === 1)
    await addWait(q, { orgId: of.orgId, keyId: of.id, keyFamily: of.family }, of.usedUpAt, now);
}

function creationOf(key: ApiKey): AuditChange {
  return { action: 'key.create', target: key.id, before: null, after: keySettings(key) };
}

function endingOf({ expiresAt, revokedAt }: Pick<ApiKey, 'expiresAt' | 'revokedAt'>) {
  return { expires_at: nullableIso(expiresAt), revoked_at: nullableIso(revokedAt) };
}

function nullableIso(at: number | null): string | null {
  return at === null ? null : isoSeconds(at);
}
