import type { Db, Queries } from '../../db.ts';
import { conditions, type Table, type Where } from '../table.ts';
import { addStored, type StorageChange } from '../storage.ts';

/** Condition: a row of the org that has not expired. */
export function unexpired(orgId: string, id: string, now: number): Where {
  return { id, orgId, 'expires_at > ?': now };
}

/** SQL: whose row it is. */
export const owner = 'org_id AS "orgId", key_id AS "keyId"';

interface RemovedRow {
  id: string;
  orgId: string;
  keyId: string | null;
}

interface Expiring<Row> {
  name: 'responses' | 'conversations' | 'chats';
  table: Pick<Table<{ metadata: string; expiresAt: number }, Row>, 'first' | 'update'>;
  /** SQL: size of a row. */
  bytes: string;
  /** SQL: additional condition for removal after expiry. */
  sweepable?: string;
  /** Removes dependent rows, and returns what that changes apart from the row itself. */
  along?: (q: Queries, removed: RemovedRow) => Promise<StorageChange[]>;
}

/** Find, update and remove for rows that expire and count toward the quota. */
export function createExpiring<Row extends object>(
  db: Db,
  { name, table, bytes, sweepable = 'TRUE', along }: Expiring<Row>,
) {
  function removeWhere(where: Where): Promise<number> {
    const { sql, params } = conditions(where);
    return db.tx(async (q) => {
      const removed = await q.all<RemovedRow & { bytes: number }>(
        `DELETE FROM ${name} WHERE ${sql} RETURNING id, ${owner}, ${bytes} AS bytes`,
        params,
      );
      const changes: StorageChange[] = [];
      for (const row of removed) {
        const { orgId, keyId, bytes: size } = row;
        changes.push({ orgId, keyId, bytes: -size, responses: -1 }, ...((await along?.(q, row)) ?? []));
      }
      await addStored(q, changes);
      return removed.length;
    });
  }

  return {
    find: (orgId: string, id: string, now: number) => table.first(db, unexpired(orgId, id, now)),

    /** Replaces the metadata and, if given, the expiry. */
    updateMetadata: (orgId: string, id: string, metadata: string, now: number, expiresAt?: number) =>
      db.tx(async (q) => {
        const { sql, params } = conditions(unexpired(orgId, id, now));
        const [before] = await q.all<{ keyId: string | null; bytes: number }>(
          `SELECT key_id AS "keyId", octet_length(metadata) AS bytes FROM ${name} WHERE ${sql} ${q.forUpdate}`,
          params,
        );
        if (!before) return undefined;
        const [row] = await table.update(q, { metadata, expiresAt }, { id });
        await addStored(q, [
          { orgId, keyId: before.keyId, bytes: Buffer.byteLength(metadata) - before.bytes },
        ]);
        return row;
      }),

    remove: async (orgId: string, id: string, now: number): Promise<boolean> =>
      (await removeWhere(unexpired(orgId, id, now))) > 0,

    removeExpired: (now: number, limit: number): Promise<number> => {
      const oldest = `id IN (SELECT id FROM ${name} WHERE expires_at <= ? AND ${sweepable}
        ORDER BY expires_at, id LIMIT ? ${db.skipLocked})`;
      return removeWhere({ [oldest]: [now, limit] });
    },
  };
}
