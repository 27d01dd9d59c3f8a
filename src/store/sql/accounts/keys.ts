import type { Db } from '../../db.ts';
import type { KeyStore } from '../../contract/accounts.ts';
import { type KeyRow, toKey } from '../rows.ts';

const columns = 'id, org_id, name, prefix, scopes, models, created_at, expires_at, revoked_at, last_used_at';

export function createKeys(db: Db): KeyStore {
  return {
    async insert(key, hash) {
      const inserted = await db.all(
        `INSERT INTO api_keys (${columns}, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (hash) DO NOTHING RETURNING id`,
        [
          key.id,
          key.orgId,
          key.name,
          key.prefix,
          JSON.stringify(key.scopes),
          key.models && JSON.stringify(key.models),
          key.createdAt,
          key.expiresAt,
          key.revokedAt,
          key.lastUsedAt,
          hash,
        ],
      );
      return inserted.length > 0;
    },

    async findByHash(hash) {
      const [row] = await db.all<KeyRow>(`SELECT ${columns} FROM api_keys WHERE hash = ?`, [hash]);
      return row && toKey(row);
    },

    async list(orgId) {
      const rows =
        orgId === undefined
          ? await db.all<KeyRow>(`SELECT ${columns} FROM api_keys ORDER BY id`)
          : await db.all<KeyRow>(`SELECT ${columns} FROM api_keys WHERE org_id = ? ORDER BY id`, [orgId]);
      return rows.map(toKey);
    },

    async revoke(id, at) {
      const [row] = await db.all<KeyRow>(
        `UPDATE api_keys SET revoked_at = COALESCE(revoked_at, ?) WHERE id = ? RETURNING ${columns}`,
        [at, id],
      );
      return row && toKey(row);
    },

    // By id, so that two processes lock the same keys in the same order.
    touch: (uses) =>
      db.tx(async (q) => {
        for (const { id, at } of uses.toSorted((a, b) => (a.id < b.id ? -1 : 1)))
          await q.all(
            'UPDATE api_keys SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at < ?)',
            [at, id, at],
          );
      }),
  };
}
