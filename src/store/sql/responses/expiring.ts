import type { Db, Queries, Value } from '../../db.ts';
import type { Columns } from '../columns.ts';
import { addBytes } from './stored-bytes.ts';

/** That a row is its org's and has not expired: of an id, an org, and now. */
export const isThere = 'id = ? AND org_id = ? AND expires_at > ?';

interface Expiring<Row> {
  table: 'responses' | 'conversations' | 'chats';
  columns: Pick<Columns<Row>, 'fields'>;
  /** The bytes of a row, in SQL. */
  bytes: string;
  /** What more is true of a row that may be swept. */
  sweepable?: string;
  /** Removes what belongs to a row. */
  along?: (q: Queries, id: string) => Promise<unknown>;
}

/** Rows of orgs that are counted and expire: how one is found, marked and taken away. */
export function createExpiring<Row extends object>(
  db: Db,
  { table, columns, bytes, sweepable = 'TRUE', along }: Expiring<Row>,
) {
  function removeWhere(condition: string, params: Value[]): Promise<number> {
    return db.tx(async (q) => {
      const removed = await q.all<{ id: string; org_id: string; bytes: number }>(
        `DELETE FROM ${table} WHERE ${condition} RETURNING id, org_id, ${bytes} AS bytes`,
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
    find: async (orgId: string, id: string, now: number): Promise<Row | undefined> => {
      const [row] = await db.all<Row>(`SELECT ${columns.fields} FROM ${table} WHERE ${isThere}`, [
        id,
        orgId,
        now,
      ]);
      return row;
    },

    /** Replaces the metadata, and when it expires unless that stays. */
    updateMetadata: (orgId: string, id: string, metadata: string, now: number, expiresAt?: number) =>
      db.tx(async (q) => {
        const [before] = await q.all<{ bytes: number }>(
          `SELECT octet_length(metadata) AS bytes FROM ${table} WHERE ${isThere} ${q.lock}`,
          [id, orgId, now],
        );
        if (!before) return undefined;
        const [row] = await q.all<Row>(
          `UPDATE ${table} SET metadata = ?, expires_at = COALESCE(?, expires_at) WHERE id = ? RETURNING ${columns.fields}`,
          [metadata, expiresAt ?? null, id],
        );
        await addBytes(q, [{ orgId, bytes: Buffer.byteLength(metadata) - before.bytes }]);
        return row;
      }),

    remove: async (orgId: string, id: string, now: number): Promise<boolean> =>
      (await removeWhere(isThere, [id, orgId, now])) > 0,

    removeExpired: (now: number, limit: number): Promise<number> =>
      removeWhere(
        `id IN (SELECT id FROM ${table} WHERE expires_at <= ? AND ${sweepable}
         ORDER BY expires_at, id LIMIT ? ${db.skip})`,
        [now, limit],
      ),
  };
}
