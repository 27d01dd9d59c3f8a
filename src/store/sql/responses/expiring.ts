import type { Db, Queries } from '../../db.ts';
import { conditions, type Table, type Where } from '../table.ts';
import { addBytes } from './stored-bytes.ts';

/** Condition: a row of the org that has not expired. */
export function unexpired(orgId: string, id: string, now: number): Where {
  return { id, orgId, 'expires_at > ?': now };
}

interface Expiring<Row> {
  name: 'responses' | 'conversations' | 'chats';
  table: Pick<Table<{ metadata: string; expiresAt: number }, Row>, 'first' | 'update'>;
  /** SQL: size of a row. */
  bytes: string;
  /** SQL: additional condition for removal after expiry. */
  sweepable?: string;
  /** Removes dependent rows. */
  along?: (q: Queries, id: string) => Promise<unknown>;
}

/** Find, update and remove for rows that expire and count toward the quota. */
export function createExpiring<Row extends object>(
  db: Db,
  { name, table, bytes, sweepable = 'TRUE', along }: Expiring<Row>,
) {
  function removeWhere(where: Where): Promise<number> {
    const { sql, params } = conditions(where);
    return db.tx(async (q) => {
      const removed = await q.all<{ id: string; org_id: string; bytes: number }>(
        `DELETE FROM ${name} WHERE ${sql} RETURNING id, org_id, ${bytes} AS bytes`,
        params,
      );
      for (const { id } of removed) await along?.(q, id);
      await addBytes(
        q,
        removed.map((row) => ({ orgId: row.org_id, bytes: -row.bytes })),
      );
      return removed.length;
    });
  }

  return {
    find: (orgId: string, id: string, now: number) => table.first(db, unexpired(orgId, id, now)),

    /** Replaces the metadata and, if given, the expiry. */
    updateMetadata: (orgId: string, id: string, metadata: string, now: number, expiresAt?: number) =>
      db.tx(async (q) => {
        const { sql, params } = conditions(unexpired(orgId, id, now));
        const [before] = await q.all<{ bytes: number }>(
          `SELECT octet_length(metadata) AS bytes FROM ${name} WHERE ${sql} ${q.forUpdate}`,
          params,
        );
        if (!before) return undefined;
        const [row] = await table.update(q, { metadata, expiresAt }, { id });
        await addBytes(q, [{ orgId, bytes: Buffer.byteLength(metadata) - before.bytes }]);
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
