import type { Batch } from '../core/batch.ts';
import type { Caller } from '../core/org.ts';
import type { Store } from '../store/store.ts';

/**
 * The org and key of a batch as a caller, with their current settings: an operator's call counts against their limits. A key that
 * was revoked or disabled, or has expired, keeps its settings.
 */
export async function ownerOf(
  { orgs, keys }: Pick<Store, 'orgs' | 'keys'>,
  { orgId, keyId, keyFamily }: Pick<Batch, 'orgId' | 'keyId' | 'keyFamily'>,
): Promise<Caller> {
  const [org, key] = await Promise.all([orgs.get(orgId), keys.get(keyId)]);
  return {
    orgId,
    keyId,
    keyFamily,
    scopes: key?.scopes ?? [],
    models: key?.models ?? null,
    limits: { org: org?.limits ?? {}, key: key?.limits ?? {} },
    ...(org && { weight: org.weight, isOrgDisabled: org.disabledAt !== null }),
    ...(key && { maxPriority: key.maxPriority }),
  };
}
