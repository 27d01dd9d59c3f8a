import { countsTowardQuota, type StoredFile } from '../../core/file.ts';
import type { Db, Queries } from '../db.ts';
import type { CreateFileOutcome, FileStore, FileSum } from '../contract/files.ts';
import type { Stored } from '../contract/storage.ts';
import { claimToken, forgetResource, sweepTokens } from './idempotency.ts';
import { files } from './rows.ts';
import { allIn, Rollback, withRollback } from './statement.ts';
import { addStored, exceededLimit, type StorageChange } from './storage.ts';

/** SQL: files that no unfinished batch reads. */
const notInUse = `NOT EXISTS (SELECT 1 FROM batches b WHERE b.input_file_id = files.id
  AND b.status IN ('validating', 'in_progress', 'cancelling'))`;

const notExpired = '(expires_at IS NULL OR expires_at > ?)';

export function createFiles(db: Db): FileStore {
  return {
    insert: (file, creation, now, limits = {}) =>
      withRollback<CreateFileOutcome>(db, async (q) => {
        const claimed = creation && (await claimToken(q, file.orgId, creation, file.id, now));
        if (claimed && claimed.outcome !== 'ours') return claimed;
        const stored = await insertFiles(q, [file]);
        const { bytes } = stored.find(({ ownerId }) => ownerId === file.orgId)!;
        const isOver = countsTowardQuota(file) && bytes > (limits.responses ?? Infinity);
        const quota = isOver ? 'responses' : exceededLimit(stored, file, limits);
        if (quota) throw new Rollback<CreateFileOutcome>({ outcome: 'too_much', quota });
        return { outcome: 'created' };
      }),

    get: (orgId, id, now) => files.first(db, { id, orgId, [notExpired]: now }),
    find: (id) => files.first(db, { id }),

    list(orgId, { purpose, after, order, limit, now }) {
      const place = order === 'asc' ? 'id > ?' : 'id < ?';
      const where = { orgId, [notExpired]: now, 'purpose = ?': purpose, [place]: after };
      return files.all(db, where, `ORDER BY id ${order} LIMIT ?`, [limit]);
    },

    remove: (orgId, id, now) =>
      db.tx(async (q) => {
        const file = await lockFile(q, orgId, id, now);
        if (!file) return { outcome: 'missing' };
        const [removed] = await removeUnused(q, [file], now);
        return removed ? { outcome: 'removed', file } : { outcome: 'in_use' };
      }),

    removeExpired: (now, limit) =>
      db.tx(async (q) => {
        await sweepTokens(q, now, limit);
        const oldest = `ORDER BY expires_at, id LIMIT ? ${q.skipLocked}`;
        return removeUnused(
          q,
          await files.all(q, { 'expires_at <= ?': now, [notInUse]: [] }, oldest, [limit]),
          now,
        );
      }),

    async referencedBlobs(blobIds) {
      const text = (list: string) => `SELECT blob_id FROM files WHERE blob_id IN ${list}`;
      return names(await allIn<BlobRow>(db, blobIds, text));
    },

    sums: (blobIds) => readFileSums(db, blobIds),

    newestBlobs: async (limit) =>
      names(await db.all<BlobRow>('SELECT blob_id FROM files ORDER BY id DESC LIMIT ?', [limit])),

    removedBlobs: async (limit) =>
      names(await db.all<BlobRow>('SELECT blob_id FROM removed_blobs ORDER BY blob_id LIMIT ?', [limit])),

    async forgetRemoved(gone) {
      await allIn(db, gone, (list) => `DELETE FROM removed_blobs WHERE blob_id IN ${list}`);
    },
  };
}

export function readFileSums(q: Queries, blobIds: readonly string[]): Promise<FileSum[]> {
  return allIn<FileSum>(
    q,
    blobIds,
    (list) => `SELECT blob_id AS "blobId", bytes, sha256 FROM files WHERE blob_id IN ${list}`,
  );
}

interface BlobRow {
  blob_id: string;
}

function names(rows: BlobRow[]): string[] {
  return rows.map((row) => row.blob_id);
}

function storedBytes(file: StoredFile, sign: 1 | -1): StorageChange {
  const { orgId, keyId } = file;
  const fileBytes = sign * file.bytes;
  return { orgId, keyId, fileBytes, bytes: countsTowardQuota(file) ? fileBytes : 0 };
}

/** Inserts files, and returns what their orgs and keys store. */
export async function insertFiles(q: Queries, made: readonly StoredFile[]): Promise<Stored[]> {
  await files.insert(q, made);
  return addStored(
    q,
    made.map((file) => storedBytes(file, 1)),
  );
}

/** Removes locked files that are unused: a batch may have started to use one before the lock. */
async function removeUnused(q: Queries, locked: readonly StoredFile[], now: number): Promise<StoredFile[]> {
  const removed: StoredFile[] = [];
  for (const file of locked) {
    const { id } = file;
    if ((await files.remove(q, { id, [notInUse]: [] })) === 0) continue;
    await forgetResource(q, id);
    await q.all('INSERT INTO removed_blobs (blob_id, removed_at) VALUES (?, ?) ON CONFLICT DO NOTHING', [
      file.blobId,
      now,
    ]);
    removed.push(file);
  }
  await addStored(
    q,
    removed.map((file) => storedBytes(file, -1)),
  );
  return removed;
}

/** Locks a file of the org against removal. */
export function lockFile(
  q: Queries,
  orgId: string,
  id: string,
  now: number,
): Promise<StoredFile | undefined> {
  return files.first(q, { id, orgId, [notExpired]: now }, q.forUpdate);
}
