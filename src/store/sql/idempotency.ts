import type { Queries } from '../db.ts';
import type { IdempotencyToken } from '../contract/idempotency.ts';
import { tableOf } from './table.ts';

/**
 * Idempotent creates. The transaction that creates a resource first writes its token, so a second one waits and sees the result of the
 * first. `creates` is always the first table that such a transaction locks.
 */

interface CreateRow extends Omit<IdempotencyToken, 'ttlMs'> {
  orgId: string;
  resourceId: string;
  forgetAt: number;
}

const creates = tableOf<CreateRow>('creates')('orgId token bodyHash resourceId startedAt retry forgetAt');

export type Claimed = { outcome: 'ours' } | { outcome: 'replayed'; id: string } | { outcome: 'mismatch' };

/** SQL: a create that the new one does not repeat. Without a key, equal bodies are the same create only if the later one is a retry. */
const isOver = `creates.forget_at <= ? OR (creates.token NOT LIKE 'k:%' AND CASE
  WHEN creates.started_at > excluded.started_at THEN creates.retry
  WHEN creates.started_at < excluded.started_at THEN excluded.retry
  ELSE creates.retry + excluded.retry END = 0)`;

/** Claims `creation.token` for the resource `resourceId`, unless an earlier create has it. */
export async function claimToken(
  q: Queries,
  orgId: string,
  creation: IdempotencyToken,
  resourceId: string,
  now: number,
): Promise<Claimed> {
  const [claimed] = await claimTokens(q, orgId, [{ creation, resourceId }], now);
  return claimed!;
}

/** As `claimToken`, for several resources that do not repeat one another. */
export async function claimTokens(
  q: Queries,
  orgId: string,
  requested: readonly { creation: IdempotencyToken; resourceId: string }[],
  now: number,
): Promise<Claimed[]> {
  const byToken = new Map(requested.map((each) => [each.creation.token, each]));
  const rows = [...byToken.values()].map(({ creation: { ttlMs, ...token }, resourceId }) => ({
    ...token,
    orgId,
    resourceId,
    forgetAt: now + ttlMs,
  }));
  // Waits for a transaction that is inserting the same token, and locks those that stand.
  const taken = (await creates.insert(
    q,
    // One lock order for all processes.
    rows.toSorted((a, b) => (a.token < b.token ? -1 : 1)),
    `ON CONFLICT (org_id, token) DO UPDATE SET body_hash = excluded.body_hash, resource_id = excluded.resource_id,
       started_at = excluded.started_at, retry = excluded.retry, forget_at = excluded.forget_at
     WHERE ${isOver} RETURNING token`,
    [now],
  )) as { token: string }[];
  const ours = new Set(taken.map(({ token }) => token));
  const others = [...byToken.keys()].filter((token) => !ours.has(token));
  const standing = await creates.among(q, 'token', others, { orgId });
  const earlier = new Map(standing.map((create) => [create.token, create]));
  return requested.map(({ creation: { token, bodyHash } }) => {
    const create = earlier.get(token);
    if (!create) return { outcome: 'ours' };
    const isSame = create.bodyHash === bodyHash;
    return isSame ? { outcome: 'replayed', id: create.resourceId } : { outcome: 'mismatch' };
  });
}

/** Forgets the tokens of a removed resource, so that a retry creates it anew. */
export async function forgetResource(q: Queries, resourceId: string): Promise<void> {
  await q.all('DELETE FROM creates WHERE resource_id = ?', [resourceId]);
}

/** Deletes up to `limit` expired tokens. */
export async function sweepTokens(q: Queries, now: number, limit: number): Promise<void> {
  await q.all(
    `DELETE FROM creates WHERE (org_id, token) IN (
       SELECT org_id, token FROM creates WHERE forget_at <= ? ORDER BY forget_at LIMIT ? ${q.skipLocked})`,
    [now, limit],
  );
}
