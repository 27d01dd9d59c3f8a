import type { Queries } from '../db.ts';
import type { Creation } from '../contract/creation.ts';

/**
 * Idempotent creates. The row of a token is written in the transaction that creates the resource, so two of them wait
 * for each other and the second sees what the first did. `creates` is always the first table such a transaction locks.
 */

interface CreateRow {
  body_hash: string;
  resource_id: string;
  started_at: number;
  retry: number;
  forget_at: number;
}

export type Claimed = { outcome: 'ours' } | { outcome: 'replayed'; id: string } | { outcome: 'mismatch' };

/** Takes `creation.token` for the resource `resourceId`, unless an earlier create of the same kind stands there. */
export async function claimToken(
  q: Queries,
  orgId: string,
  creation: Creation,
  resourceId: string,
  now: number,
): Promise<Claimed> {
  for (;;) {
    if (await insertToken(q, orgId, creation, resourceId, now)) return { outcome: 'ours' };
    const earlier = await lockToken(q, orgId, creation.token);
    if (!earlier) continue; // swept between the two statements
    if (earlier.forget_at > now) {
      if (creation.token.startsWith('k:'))
        return earlier.body_hash === creation.bodyHash
          ? { outcome: 'replayed', id: earlier.resource_id }
          : { outcome: 'mismatch' };
      if (areTwins(earlier, creation)) return { outcome: 'replayed', id: earlier.resource_id };
    }
    await replaceToken(q, orgId, creation, resourceId, now);
    return { outcome: 'ours' };
  }
}

/** Without a key, the same bytes are the same create only if the one that started later says that it is a retry. */
function areTwins(earlier: CreateRow, creation: Creation): boolean {
  if (earlier.started_at === creation.startedAt) return Math.max(earlier.retry, creation.retry) >= 1;
  return (earlier.started_at > creation.startedAt ? earlier.retry : creation.retry) >= 1;
}

/** Waits for a transaction that is inserting the same token. */
async function insertToken(q: Queries, orgId: string, creation: Creation, resourceId: string, now: number) {
  const inserted = await q.all(
    `INSERT INTO creates (org_id, token, body_hash, resource_id, started_at, retry, forget_at)
     VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (org_id, token) DO NOTHING RETURNING token`,
    [
      orgId,
      creation.token,
      creation.bodyHash,
      resourceId,
      creation.startedAt,
      creation.retry,
      now + creation.ttlMs,
    ],
  );
  return inserted.length > 0;
}

async function lockToken(q: Queries, orgId: string, token: string): Promise<CreateRow | undefined> {
  const [row] = await q.all<CreateRow>(
    `SELECT body_hash, resource_id, started_at, retry, forget_at FROM creates
     WHERE org_id = ? AND token = ? ${q.lock}`,
    [orgId, token],
  );
  return row;
}

async function replaceToken(q: Queries, orgId: string, creation: Creation, resourceId: string, now: number) {
  await q.all(
    `UPDATE creates SET body_hash = ?, resource_id = ?, started_at = ?, retry = ?, forget_at = ?
     WHERE org_id = ? AND token = ?`,
    [
      creation.bodyHash,
      resourceId,
      creation.startedAt,
      creation.retry,
      now + creation.ttlMs,
      orgId,
      creation.token,
    ],
  );
}

/** A resource that is gone is not the answer to a retry. */
export async function forgetResource(q: Queries, resourceId: string): Promise<void> {
  await q.all('DELETE FROM creates WHERE resource_id = ?', [resourceId]);
}

/** Deletes up to `limit` tokens whose time is over. */
export async function sweepTokens(q: Queries, now: number, limit: number): Promise<void> {
  await q.all(
    `DELETE FROM creates WHERE (org_id, token) IN (
       SELECT org_id, token FROM creates WHERE forget_at <= ? ORDER BY forget_at LIMIT ? ${q.skip})`,
    [now, limit],
  );
}
