import { isCounted, type StoredFile } from '../../core/file.ts';
import type { Db, Queries, Value } from '../db.ts';
import type { CreateFileOutcome, FileStore } from '../contract/files.ts';
import type { StoredBytes } from '../contract/stored-bytes.ts';
import { claimToken, forgetResource, sweepTokens } from './creates.ts';
import { fileColumns as columns } from './rows.ts';
import { inLists, tuples, Undo, undoable } from './statement.ts';
import { addBytes } from './responses/stored-bytes.ts';

/** True for files that a batch still reads. */
const inUse = `EXISTS (SELECT 1 FROM batches b WHERE b.input_file_id = files.id
  AND b.status IN ('validating', 'in_progress', 'cancelling'))`;

export function createFiles(db: Db): FileStore {
  return {
    insert: (file, creation, now, mostBytes = Infinity) =>
      undoable<CreateFileOutcome>(db, async (q) => {
        const claimed = creation && (await claimToken(q, file.orgId, creation, file.id, now));
        if (claimed && claimed.outcome !== 'ours') return claimed;
        await insertFile(q, file);
        const [total] = await addBytes(q, counted([file], 1));
        if (total && total.bytes > mostBytes) throw new Undo<CreateFileOutcome>({ outcome: 'too_much' });
        return { outcome: 'created' };
      }),

    async get(orgId, id, now) {
      const [row] = await db.all(
        `SELECT ${columns.fields} FROM files WHERE id = ? AND org_id = ? AND (expires_at IS NULL OR expires_at > ?)`,
        [id, orgId, now],
      );
      return row && columns.read(row);
    },

    async find(id) {
      const [row] = await db.all(`SELECT ${columns.fields} FROM files WHERE id = ?`, [id]);
      return row && columns.read(row);
    },

    async list(orgId, { purpose, after, order, limit, now }) {
      const where = ['org_id = ?', '(expires_at IS NULL OR expires_at > ?)'];
      const params: Value[] = [orgId, now];
      if (purpose !== undefined) {
        where.push('purpose = ?');
        params.push(purpose);
      }
      if (after !== undefined) {
        where.push(order === 'asc' ? 'id > ?' : 'id < ?');
        params.push(after);
      }
      const rows = await db.all(
        `SELECT ${columns.fields} FROM files WHERE ${where.join(' AND ')}
         ORDER BY id ${order === 'asc' ? 'ASC' : 'DESC'} LIMIT ?`,
        [...params, limit],
      );
      return rows.map(columns.read);
    },

    remove: (orgId, id, now) =>
      db.tx(async (q) => {
        const file = await lockFile(q, orgId, id, now);
        if (!file) return { outcome: 'missing' };
        const deleted = await q.all(`DELETE FROM files WHERE id = ? AND NOT ${inUse} RETURNING id`, [id]);
        if (deleted.length === 0) return { outcome: 'in_use' };
        await forgetResource(q, id);
        await noteRemoved(q, [file], now);
        await addBytes(q, counted([file], -1));
        return { outcome: 'removed', file };
      }),

    removeExpired: (now, limit) =>
      db.tx(async (q) => {
        await sweepTokens(q, now, limit);
        const expired = await lockExpired(q, now, limit);
        const removed: StoredFile[] = [];
        // Asked again now that the rows are locked: a batch may have been created on one of them in between.
        for (const { id } of expired) {
          const rows = await q.all(
            `DELETE FROM files WHERE id = ? AND NOT ${inUse} RETURNING ${columns.fields}`,
            [id],
          );
          if (rows.length > 0) await forgetResource(q, id);
          removed.push(...rows.map(columns.read));
        }
        await noteRemoved(q, removed, now);
        await addBytes(q, counted(removed, -1));
        return removed;
      }),

    async knownBlobs(blobIds) {
      const known: string[] = [];
      for (const { sql, params } of inLists(blobIds)) {
        const rows = await db.all<{ blob_id: string }>(
          `SELECT blob_id FROM files WHERE blob_id IN ${sql}`,
          params,
        );
        known.push(...rows.map((row) => row.blob_id));
      }
      return known;
    },

    newestBlobs: (limit) => namesOfBlobs(db, 'SELECT blob_id FROM files ORDER BY id DESC LIMIT ?', limit),

    removedBlobs: (limit) =>
      namesOfBlobs(db, 'SELECT blob_id FROM removed_blobs ORDER BY blob_id LIMIT ?', limit),

    async forgetRemoved(gone) {
      for (const { sql, params } of inLists(gone))
        await db.all(`DELETE FROM removed_blobs WHERE blob_id IN ${sql}`, params);
    },
  };
}

async function namesOfBlobs(db: Db, sql: string, limit: number): Promise<string[]> {
  const rows = await db.all<{ blob_id: string }>(sql, [limit]);
  return rows.map((row) => row.blob_id);
}

function counted(files: readonly StoredFile[], sign: 1 | -1): StoredBytes[] {
  return files.filter(isCounted).map(({ orgId, bytes }) => ({ orgId, bytes: sign * bytes }));
}

async function noteRemoved(q: Queries, files: readonly StoredFile[], now: number): Promise<void> {
  for (const { blobId } of files)
    await q.all('INSERT INTO removed_blobs (blob_id, removed_at) VALUES (?, ?) ON CONFLICT DO NOTHING', [
      blobId,
      now,
    ]);
}

export async function insertFile(q: Queries, file: StoredFile): Promise<void> {
  await q.all(
    `INSERT INTO files (${columns.names}) VALUES ${tuples(1, columns.count)}`,
    columns.values(file),
  );
}

/** The org's file, kept from being removed until the transaction ends. */
export async function lockFile(
  q: Queries,
  orgId: string,
  id: string,
  now: number,
): Promise<StoredFile | undefined> {
  const [row] = await q.all(
    `SELECT ${columns.fields} FROM files
     WHERE id = ? AND org_id = ? AND (expires_at IS NULL OR expires_at > ?) ${q.lock}`,
    [id, orgId, now],
  );
  return row && columns.read(row);
}

function lockExpired(q: Queries, now: number, limit: number): Promise<{ id: string }[]> {
  return q.all(
    `SELECT id FROM files WHERE expires_at <= ? AND NOT ${inUse} ORDER BY expires_at, id LIMIT ? ${q.skip}`,
    [now, limit],
  );
}
