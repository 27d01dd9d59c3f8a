import type { Db } from '../../db.ts';
import type { KeyStore } from '../../contract/accounts.ts';
import type { ApiKey } from '../../../core/org.ts';
import { columnsOf } from '../columns.ts';
import { tuples } from '../statement.ts';

const columns = columnsOf<ApiKey>(
  'scopes',
  'models',
)('id orgId name prefix scopes models createdAt expiresAt revokedAt lastUsedAt');

export function createKeys(db: Db): KeyStore {
  return {
    async insert(key, hash) {
      const inserted = await db.all(
        `INSERT INTO api_keys (${columns.names}, hash) VALUES ${tuples(1, columns.count + 1)}
         ON CONFLICT (hash) DO NOTHING RETURNING id`,
        [...columns.values(key), hash],
      );
      return inserted.length > 0;
    },

    async findByHash(hash) {
      const [row] = await db.all(`SELECT ${columns.fields} FROM api_keys WHERE hash = ?`, [hash]);
      return row && columns.read(row);
    },

    async list(orgId) {
      const rows =
        orgId === undefined
          ? await db.all(`SELECT ${columns.fields} FROM api_keys ORDER BY id`)
          : await db.all(`SELECT ${columns.fields} FROM api_keys WHERE org_id = ? ORDER BY id`, [orgId]);
      return rows.map(columns.read);
    },

    async revoke(id, at) {
      const [row] = await db.all(
        `UPDATE api_keys SET revoked_at = COALESCE(revoked_at, ?) WHERE id = ? RETURNING ${columns.fields}`,
        [at, id],
      );
      return row && columns.read(row);
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
