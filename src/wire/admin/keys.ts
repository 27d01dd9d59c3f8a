import { omitNullish } from '../../base/fields.ts';
import { string, object, oneOf, stringOrNull, orNull, array, nameRule, titleRule } from '../schema/schema.ts';
import { isoSeconds } from '../../base/clock.ts';
import { invalid } from '../../core/errors.ts';
import { type ApiKey, type NewKey, type KeyScope, scopes } from '../../core/org.ts';
import { describe } from '../schema/explain.ts';
import { nullable, parseInstant } from '../shared/instant.ts';
import { parseBody, validator } from '../schema/validate.ts';

/** Body of `POST /v1/admin/keys`. */
export const createKeySchema = object(
  {
    org_id: string({ minLength: 1, maxLength: 100, ...nameRule }),
    'name?': stringOrNull(titleRule),
    'scopes?': orNull(
      array(oneOf(scopes), {
        minItems: 1,
        maxItems: scopes.length,
        uniqueItems: true,
        description: 'All but admin if absent.',
      }),
    ),
    'models?': orNull(
      array(string({ minLength: 1, maxLength: 256 }), {
        minItems: 1,
        maxItems: 1_000,
        description: 'Ids of the models that the key may use; all if absent.',
      }),
    ),
    'expires_at?': {
      type: ['string', 'integer', 'null'],
      expected: 'a time such as 2026-11-21T09:30:00Z or Unix seconds',
      description: 'ISO 8601, or Unix seconds.',
    },
  },
  { additionalProperties: false, title: 'CreateKey' },
);

interface Body {
  org_id: string;
  name?: string | null;
  scopes?: KeyScope[] | null;
  models?: string[] | null;
  expires_at?: string | number | null;
}

const check = validator(createKeySchema);

/** @throws ApiError `validation_error` */
export function parseCreateKey(text: string): NewKey {
  const { value } = parseBody<Body>(text, check);
  const { org_id: orgId, name, scopes: named, models, expires_at: expiry } = value;
  const expiresAt = expiry === undefined || expiry === null ? undefined : parseInstant(expiry);
  if (expiry !== undefined && expiry !== null && expiresAt === undefined)
    throw invalid('expires_at', `expected a time such as 2026-11-21T09:30:00Z, got ${describe(expiry)}`);
  return { orgId, ...omitNullish({ name, scopes: named, models, expiresAt }) };
}

const iso = nullable(isoSeconds);

/** @param secret the key itself, returned only on creation */
export function presentKey(key: ApiKey, secret?: string) {
  return {
    id: key.id,
    object: 'api_key',
    org_id: key.orgId,
    name: key.name,
    prefix: key.prefix,
    scopes: key.scopes,
    models: key.models,
    created_at: isoSeconds(key.createdAt),
    expires_at: iso(key.expiresAt),
    revoked_at: iso(key.revokedAt),
    last_used_at: iso(key.lastUsedAt),
    ...(secret !== undefined && { key: secret }),
  };
}
