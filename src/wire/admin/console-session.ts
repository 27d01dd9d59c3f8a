import { isoSeconds } from '../../base/clock.ts';
import type { Caller } from '../../core/org.ts';
import { object, string } from '../schema/schema.ts';
import { parseBody, validator } from '../schema/validate.ts';

const check = validator(
  object(
    { key: string({ minLength: 1, maxLength: 1_000, pattern: '^[\\x21-\\x7e]+$' }) },
    { additionalProperties: false, title: 'ConsoleSignIn' },
  ),
);

/**
 * Body of `POST /console/session`.
 * @throws ApiError `validation_error`
 */
export function parseSignIn(text: string): { key: string } {
  return parseBody<{ key: string }>(text, check).value;
}

export type ConsoleSessionBody = ReturnType<typeof presentSession>;

/** @param org null if it no longer exists */
export function presentSession(
  { orgId, keyId, keyName, scopes, models }: Caller,
  { org, expiresAt, version }: { org: string | null; expiresAt: number; version: string },
) {
  return {
    object: 'console_session' as const,
    org_id: orgId,
    org,
    key_id: keyId,
    /** Empty for a key without a name. */
    key: keyName ?? '',
    scopes,
    models,
    expires_at: isoSeconds(expiresAt),
    version,
  };
}
