import { isoSeconds } from '../../base/clock.ts';
import { omitNullish } from '../../base/fields.ts';
import { invalid } from '../../core/errors.ts';
import { priorities } from '../../core/limits.ts';
import {
  type ApiKey,
  type KeyChanges,
  keyDefaults,
  type KeyScope,
  type NewKey,
  scopes,
} from '../../core/org.ts';
import { type ServiceTier, serviceTiers } from '../../core/service-tier.ts';
import { keySettings } from '../../core/settings.ts';
import { describe } from '../schema/explain.ts';
import {
  string,
  object,
  oneOf,
  oneOfOrNull,
  stringOrNull,
  orNull,
  array,
  nameRule,
  titleRule,
  booleanOrNull,
  integerOrNull,
} from '../schema/schema.ts';
import { parseBody, validator } from '../schema/validate.ts';
import { nullable, parseInstant } from '../shared/instant.ts';
import type { SpentBudget } from '../../core/budget.ts';
import { type BudgetBody, budgetSchema, presentBudget, readBudget } from './budget.ts';
import { type LimitsBody, limitsSchema, readLimits } from './limits.ts';

const settings = {
  'name?': stringOrNull(titleRule),
  'scopes?': orNull(
    array(oneOf(scopes), {
      minItems: 1,
      maxItems: scopes.length,
      uniqueItems: true,
      description: 'All but admin for a new key.',
    }),
  ),
  'models?': orNull(
    array(string({ minLength: 1, maxLength: 256 }), {
      minItems: 1,
      maxItems: 1_000,
      description: 'Ids or aliases of the models that the key may use; null for all.',
    }),
  ),
  'expires_at?': {
    type: ['string', 'integer', 'null'],
    expected: 'a time such as 2026-11-21T09:30:00Z or Unix seconds',
    description: 'ISO 8601, or Unix seconds; null for a key that does not expire.',
  },
  'limits?': limitsSchema,
  'budget?': budgetSchema,
  'priority?': integerOrNull({
    minimum: priorities.min,
    maximum: priorities.max,
    description: `Highest priority that batches of the key may have; ${keyDefaults.maxPriority} for a new key.`,
  }),
  'service_tier?': {
    ...oneOfOrNull(serviceTiers),
    description:
      'Tier of single requests of the key without a service_tier or with "auto"; null for default.',
  },
};

/** Body of `POST /v1/admin/keys`. */
export const createKeySchema = object(
  {
    org_id: string({ minLength: 1, maxLength: 200, ...nameRule, description: 'Id or name of an org.' }),
    ...settings,
  },
  { additionalProperties: false, title: 'CreateKey' },
);

/** Body of `PATCH /v1/admin/keys/{id}`: absent fields stay unchanged. */
export const updateKeySchema = object(
  {
    ...settings,
    'disabled?': booleanOrNull({ description: 'True refuses the requests of the key until it is enabled.' }),
  },
  { additionalProperties: false, title: 'UpdateKey' },
);

/** Longest overlap of a rotated key, in seconds: 30 days. */
const maxOverlap = 2_592_000;

/** Body of `POST /v1/admin/keys/{id}/rotate`. */
export const rotateKeySchema = object(
  {
    'overlap?': integerOrNull({
      minimum: 0,
      maximum: maxOverlap,
      description: 'Seconds for which the old key still works; 0 by default, which revokes it.',
    }),
  },
  { additionalProperties: false, title: 'RotateKey' },
);

interface Settings {
  name?: string | null;
  scopes?: KeyScope[] | null;
  models?: string[] | null;
  expires_at?: string | number | null;
  limits?: LimitsBody;
  budget?: BudgetBody;
  priority?: number | null;
  service_tier?: ServiceTier | null;
}

const checks = {
  create: validator(createKeySchema),
  update: validator(updateKeySchema),
  rotate: validator(rotateKeySchema),
};

/** @throws ApiError `validation_error` */
export function parseCreateKey(text: string): NewKey {
  const { org_id: orgId, ...given } = parseBody<Settings & { org_id: string }>(text, checks.create).value;
  return { orgId, ...readSettings(given) };
}

/** @throws ApiError `validation_error` */
export function parseUpdateKey(text: string): KeyChanges {
  const { disabled, ...given } = parseBody<Settings & { disabled?: boolean | null }>(
    text,
    checks.update,
  ).value;
  return { ...readSettings(given), ...omitNullish({ disabled }) };
}

/** Returns the overlap in milliseconds. @throws ApiError `validation_error` */
export function parseRotateKey(text: string): number {
  const { overlap } = parseBody<{ overlap?: number | null }>(text, checks.rotate).value;
  return (overlap ?? 0) * 1000;
}

function readSettings({
  name,
  scopes: named,
  models,
  expires_at: expiry,
  limits,
  budget,
  priority,
  service_tier: serviceTier,
}: Settings): KeyChanges {
  return {
    ...omitNullish({ name, scopes: named, maxPriority: priority }),
    ...(models !== undefined && { models }),
    ...(expiry !== undefined && { expiresAt: expiry === null ? null : readExpiry(expiry) }),
    ...(limits !== undefined && { limits: readLimits(limits) }),
    ...(budget !== undefined && { budget: readBudget(budget) }),
    ...(serviceTier !== undefined && { serviceTier }),
  };
}

function readExpiry(expiry: string | number): number {
  const expiresAt = parseInstant(expiry);
  if (expiresAt === undefined)
    throw invalid('expires_at', `expected a time such as 2026-11-21T09:30:00Z, got ${describe(expiry)}`);
  return expiresAt;
}

const iso = nullable(isoSeconds);

/** Key with the name of its org, and what it has spent of its budget. */
interface ShownKey extends ApiKey {
  orgName: string | null;
  /** Null for a revoked key. */
  spentBudget: SpentBudget | null;
}

/** @param secret the key itself, returned only on creation */
export function presentKey(key: ShownKey, now: number, secret?: string) {
  const { org_id: orgId, ...shown } = keySettings(key);
  return {
    id: key.id,
    object: 'api_key',
    prefix: key.prefix,
    created_at: isoSeconds(key.createdAt),
    org_id: orgId,
    org: key.orgName,
    ...shown,
    budget: key.budget && presentBudget(key.spentBudget ?? key.budget, now),
    disabled_at: iso(key.disabledAt),
    revoked_at: iso(key.revokedAt),
    replaced_by: key.replacedBy,
    last_used_at: iso(key.lastUsedAt),
    ...(secret !== undefined && { key: secret }),
  };
}

/** @param secret of the new key */
export function presentRotation(key: ShownKey, now: number, secret: string, replaced: ShownKey) {
  return { ...presentKey(key, now, secret), old_key: presentKey(replaced, now) };
}
