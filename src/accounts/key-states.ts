import { isoSeconds } from '../base/clock.ts';
import { ApiError } from '../core/errors.ts';
import type { ApiKey, KeyChanges } from '../core/org.ts';
import type { Actor } from '../core/audit.ts';

/** Error for a change of a revoked key. */
export function notChangeable(key: ApiKey): ApiError {
  const instead = key.replacedBy === null ? 'Create a new key.' : `Change ${key.replacedBy} instead.`;
  return new ApiError(
    'key_not_active',
    `${revokedText(key)}. ${instead} Only its budget can change, for its unfinished batches.`,
  );
}

/** Error for the rotation of a key that is replaced, revoked, disabled or expired. */
export function notRotatable(key: ApiKey, now: number): ApiError {
  const { id, replacedBy, revokedAt, disabledAt, expiresAt } = key;
  if (replacedBy !== null) {
    const end =
      revokedAt === null && expiresAt !== null && expiresAt > now
        ? `, and works until ${isoSeconds(expiresAt)}`
        : '';
    return new ApiError(
      'key_replaced',
      `The key ${id} was replaced by ${replacedBy}${end}. Rotate ${replacedBy}.`,
    );
  }
  const text =
    revokedAt !== null
      ? `${revokedText(key)}. Create a new key.`
      : disabledAt !== null
        ? `The key ${id} is disabled since ${isoSeconds(disabledAt)}. Enable it first.`
        : `The key ${id} expired at ${isoSeconds(expiresAt!)}. Give it a later expires_at first, or create a new key.`;
  return new ApiError('key_not_active', text);
}

function revokedText({ id, revokedAt, replacedBy }: ApiKey): string {
  const successor = replacedBy === null ? '' : `, and ${replacedBy} replaced it`;
  return `The key ${id} was revoked at ${isoSeconds(revokedAt!)}${successor}`;
}

/** Keeps an administrator from locking itself out. @throws ApiError `own_admin_scope` */
export function requireOwnAdmin(actor: Actor, key: ApiKey, { scopes, disabled }: KeyChanges): void {
  if (actor.keyId !== key.id || !key.scopes.includes('admin')) return;
  if (scopes && !scopes.includes('admin'))
    throw new ApiError(
      'own_admin_scope',
      'scopes: a key cannot take the scope "admin" from itself. Use another admin key for this change.',
      { param: 'scopes' },
    );
  if (disabled === true)
    throw new ApiError(
      'own_admin_scope',
      'disabled: an admin key cannot disable itself. Use another admin key for this change.',
      { param: 'disabled' },
    );
}

/** Keeps an administrator from locking itself out. @throws ApiError `own_admin_scope` */
export function requireOtherKey(actor: Actor, id: string): void {
  if (actor.keyId === id)
    throw new ApiError(
      'own_admin_scope',
      'An admin key cannot revoke itself. Use another admin key, or rotate this one.',
    );
}
