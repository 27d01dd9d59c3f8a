import type { Db } from '../../db.ts';
import type { KeyStore } from '../../contract/accounts.ts';
import type { ApiKey, KeyOrg } from '../../../core/org.ts';
import { tableOf } from '../table.ts';
import { changedSettings } from './settings.ts';

const keys = tableOf<ApiKey & { hash: string }, 'hash'>('api_keys', {
  json: ['scopes', 'models', 'limits'],
  unread: ['hash'],
})(
  'id orgId name prefix scopes models createdAt expiresAt revokedAt lastUsedAt disabledAt limits maxPriority hash',
);

const keyOrgs = tableOf<KeyOrg>('orgs', { json: ['limits'] })('limits disabledAt');

export function createKeys(db: Db): KeyStore {
  return {
    insert: async (key, hash) =>
      (await keys.insert(db, [{ ...key, hash }], 'ON CONFLICT (hash) DO NOTHING RETURNING id')).length > 0,

    async findByHash(hash) {
      const key = await keys.first(db, { hash });
      const org = key && (await keyOrgs.first(db, { id: key.orgId }));
      return org && { ...key, org };
    },
    get: (id) => keys.first(db, { id }),
    list: (orgId) => keys.all(db, { 'org_id = ?': orgId }, 'ORDER BY id'),

    async revoke(id, at) {
      const [key] = await keys.update(db, { 'revoked_at = COALESCE(revoked_at, ?)': at }, { id });
      return key;
    },

    update: (id, { limits, disabled, ...changes }, now) =>
      db.tx(async (q) => {
        const before = await keys.first(q, { id }, q.forUpdate);
        if (!before) return undefined;
        const settings = changedSettings(before, { limits, disabled }, now);
        const [key] = await keys.update(q, { ...changes, ...settings }, { id });
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
