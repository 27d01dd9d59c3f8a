import type { FileByteLimits, Stored, StorageStore } from '../contract/storage.ts';
import type { Db, Queries } from '../db.ts';
import { allIn, tuples } from './statement.ts';

/** Rows of an org that come or go. `keyId` is null for rows of versions that did not record it. */
export interface StorageChange extends Partial<Omit<Stored, 'ownerId'>> {
  orgId: string;
  keyId: string | null;
}

const fields = 'org_id AS "ownerId", bytes, file_bytes AS "fileBytes", responses';

export function createStorage(db: Db): StorageStore {
  return { stored: (ownerIds) => readStored(db, ownerIds) };
}

export function readStored(q: Queries, ownerIds: readonly string[]): Promise<Stored[]> {
  return allIn(q, ownerIds, (list) => `SELECT ${fields} FROM response_usage WHERE org_id IN ${list}`);
}

/** Adds to what orgs and keys store, in one lock order for all processes. Returns their new sums. */
export async function addStored(q: Queries, changes: readonly StorageChange[]): Promise<Stored[]> {
  const sums = new Map<string, Stored>();
  for (const { orgId, keyId, bytes = 0, fileBytes = 0, responses = 0 } of changes)
    for (const ownerId of keyId === null ? [orgId] : [orgId, keyId]) {
      const sum = sums.get(ownerId) ?? { ownerId, bytes: 0, fileBytes: 0, responses: 0 };
      sum.bytes += bytes;
      sum.fileBytes += fileBytes;
      sum.responses += responses;
      sums.set(ownerId, sum);
    }
  if (sums.size === 0) return [];
  const inOrder = [...sums.values()].toSorted((a, b) => (a.ownerId < b.ownerId ? -1 : 1));
  return q.all(
    `INSERT INTO response_usage (org_id, bytes, file_bytes, responses) VALUES ${tuples(inOrder.length, 4)}
     ON CONFLICT (org_id) DO UPDATE SET bytes = response_usage.bytes + excluded.bytes,
       file_bytes = response_usage.file_bytes + excluded.file_bytes,
       responses = response_usage.responses + excluded.responses
     RETURNING ${fields}`,
    inOrder.flatMap(({ ownerId, bytes, fileBytes, responses }) => [ownerId, bytes, fileBytes, responses]),
  );
}

/** The first limit that these sums exceed. @param isFull true if a sum equal to its limit exceeds it, too */
export function exceededLimit(
  stored: readonly Stored[],
  { orgId, keyId }: { orgId: string; keyId: string | null },
  limits: FileByteLimits,
  isFull = false,
): keyof FileByteLimits | undefined {
  const owners = { org: orgId, key: keyId };
  return (['org', 'key'] as const).find((name) => {
    const { fileBytes = 0 } = stored.find(({ ownerId }) => ownerId === owners[name]) ?? {};
    const max = limits[name] ?? Infinity;
    return isFull ? fileBytes >= max : fileBytes > max;
  });
}
