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

/** Takes `creation.token` for the resource `resourceId`, unless an earlier create of the same kind stands there. */
export async function claimToken(
  q: Queries,
  orgId: string,
  creation: IdempotencyToken,
  resourceId: string,
  now: number,
): Promise<Claimed> {
  const { ttlMs, ...asked } = creation;
  const row: CreateRow = { ...asked, orgId, resourceId, forgetAt: now + ttlMs };
  const { token } = creation;
  for (;;) {
    // Waits for a transaction that is inserting the same token.
    const inserted = await creates.insert(q, [row], 'ON CONFLICT (org_id, token) DO NOTHING RETURNING token');
    if (inserted.length > 0) return { outcome: 'ours' };
    const earlier = await creates.first(q, { orgId, token }, q.forUpdate);
    if (!earlier) continue; // swept between the two statements
    if (earlier.forgetAt > now) {
      if (token.startsWith('k:'))
        return earlier.bodyHash === creation.bodyHash
          ? { outcome: 'replayed', id: earlier.resourceId }
          : { outcome: 'mismatch' };
      if (areTwins(earlier, creation)) return { outcome: 'replayed', id: earlier.resourceId };
    }
    await creates.change(q, { ...row }, { orgId, token });
    return { outcome: 'ours' };
  }
}

/** As `claimToken`, for several resources that do not repeat one another: one statement where all tokens are new. */
export async function claimTokens(
  q: Queries,
  orgId: string,
  asked: readonly { creation: IdempotencyToken; resourceId: string }[],
  now: number,
): Promise<Claimed[]> {
  const byToken = new Map(asked.map((each) => [each.creation.token, each]));
  const rows = [...byToken.values()].map(({ creation: { ttlMs, ...token }, resourceId }) => ({
    ...token,
    orgId,
    resourceId,
    forgetAt: now + ttlMs,
  }));
  const inserted = (await creates.insert(
    q,
    // One lock order for all processes.
    rows.toSorted((a, b) => (a.token < b.token ? -1 : 1)),
    'ON CONFLICT (org_id, token) DO NOTHING RETURNING token',
  )) as { token: string }[];
  const taken = new Set(inserted.map(({ token }) => token));
  const claims: Claimed[] = [];
  for (const each of asked) {
    const { creation, resourceId } = each;
    const isNew = taken.has(creation.token);
    claims.push(isNew ? { outcome: 'ours' } : await claimToken(q, orgId, creation, resourceId, now));
  }
  return claims;
}

/** Without a key, equal bodies are the same create only if the later request says that it is a retry. */
function areTwins(earlier: CreateRow, creation: IdempotencyToken): boolean {
  if (earlier.startedAt === creation.startedAt) return Math.max(earlier.retry, creation.retry) >= 1;
  return (earlier.startedAt > creation.startedAt ? earlier.retry : creation.retry) >= 1;
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
