import type { Actor } from '../core/audit.ts';
import { ApiError } from '../core/errors.ts';
import { excessesOf, type Grant } from '../core/grants.ts';
import type { KeyChanges } from '../core/org.ts';
import type { Store } from '../store/store.ts';

/** API names of the settings that a change may raise. */
const fields: Partial<Record<keyof KeyChanges, string>> = {
  scopes: 'scopes',
  models: 'models',
  expiresAt: 'expires_at',
  limits: 'limits',
  budget: 'budget',
  maxPriority: 'priority',
};

/**
 * Rejects a key that could do more than the key of the actor. The server itself may create any key.
 * @param changes settings that count; all of them if absent
 * @throws ApiError `permission_denied`
 */
export async function requireGrant(
  keys: Pick<Store['keys'], 'get'>,
  actor: Actor,
  key: Grant,
  changes?: KeyChanges,
): Promise<void> {
  if (actor.keyId === null) return;
  const by = await keys.get(actor.keyId);
  if (!by) throw new ApiError('permission_denied', 'The key of this request does not exist any more.');
  const counts = (field: string) =>
    !changes ||
    (Object.keys(changes) as (keyof KeyChanges)[]).some((name) => fields[name] === field.split('.')[0]);
  const excess = excessesOf(key, by).find(({ field }) => counts(field));
  if (excess)
    throw new ApiError(
      'permission_denied',
      `${excess.field}: a key cannot give more than it has, and yours ${excess.bound}. Use another admin key, or ask for less.`,
      { param: excess.field },
    );
}
