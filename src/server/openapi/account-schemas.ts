import { auditActions } from '../../core/audit.ts';
import { budgetPeriods } from '../../core/budget.ts';
import { limitFields } from '../../core/limits.ts';
import { scopes } from '../../core/org.ts';
import { serviceTiers } from '../../core/service-tier.ts';
import { sealStates } from '../../core/secrets-key.ts';
import * as t from '../../wire/schema/schema.ts';
import { closed, decimal, instant, instantOrNull, titled } from './answer-schemas.ts';

// Schemas of answers about orgs, keys and their changes.

const limits = t.object(
  Object.fromEntries(
    Object.keys(limitFields).map((name) => [
      `${name}?`,
      name === 'queued_tokens' ? { type: 'object', additionalProperties: t.integer() } : t.integer(),
    ]),
  ),
  { description: 'Limits that are set.', ...closed },
);
const disabled = { disabled: t.boolean(), disabled_at: instantOrNull };

const budget = (description: string) =>
  t.orNull(
    t.object(
      {
        amount: decimal,
        period: t.oneOf(budgetPeriods),
        hard: t.boolean({ description: 'False if a used-up budget is only reported.' }),
        spent: {
          ...t.stringOrNull({ pattern: decimal.pattern }),
          description: 'Amount spent in the current period; null for a revoked key.',
        },
        reached_at: instantOrNull,
        begins_again_at: instantOrNull,
      },
      { description, ...closed },
    ),
  );

export const orgSchema = titled('Org', {
  id: t.string({ pattern: '^org_' }),
  object: t.literal('org'),
  name: t.string(),
  created_at: instant,
  ...disabled,
  weight: t.integer({ description: 'Share of the slots relative to other orgs.' }),
  limits,
  budget: budget('Budget in USD; null for an unlimited one.'),
});

const keyFields = {
  id: t.string({ pattern: '^key_' }),
  object: t.literal('api_key'),
  org_id: t.string(),
  org: t.stringOrNull({ description: 'Name of the org.' }),
  name: t.string(),
  prefix: t.string({ description: 'First characters and last four characters of the key.' }),
  scopes: t.array(t.oneOf(scopes)),
  models: t.orNull(t.array(t.string())),
  limits,
  priority: t.integer({ description: 'Highest priority that batches of the key may have.' }),
  service_tier: {
    ...t.oneOfOrNull(serviceTiers),
    description:
      'Tier of single requests of the key without a service_tier or with "auto"; null for default.',
  },
  budget: budget('Budget in USD, in addition to that of the org; null for an unlimited one.'),
  created_at: instant,
  expires_at: instantOrNull,
  revoked_at: instantOrNull,
  replaced_by: t.stringOrNull({ description: 'Key that replaced it by rotation.' }),
  ...disabled,
  last_used_at: { ...instantOrNull, description: 'Stored once a minute.' },
};

export const keySchema = titled('ApiKey', keyFields);

export const newKeySchema = t.object(
  { ...keyFields, key: t.string({ description: 'Secret key, shown only once.' }) },
  { title: 'NewApiKey', ...closed },
);

export const rotatedKeySchema = t.object(
  {
    ...keyFields,
    key: t.string({ description: 'Secret key, shown only once.' }),
    old_key: t.object(keyFields, {
      description: 'Key that the new one replaces; it ends at its `expires_at` or `revoked_at`.',
      ...closed,
    }),
  },
  { title: 'RotatedApiKey', ...closed },
);

const changedFields = {
  type: ['object', 'null'],
  additionalProperties: true,
  description: 'Changed fields without secrets.',
};

export const auditEntrySchema = titled('AuditEntry', {
  id: t.string({ pattern: '^audit_' }),
  object: t.literal('audit_entry'),
  at: instant,
  actor: t.object(
    {
      key_id: t.stringOrNull({ description: 'Null for the server.' }),
      name: t.string(),
    },
    closed,
  ),
  action: t.oneOf(auditActions),
  target: t.string({ description: 'Id of what was changed.' }),
  before: changedFields,
  after: changedFields,
  address: t.stringOrNull({ description: 'Address of the client; null if a trusted proxy does not say it.' }),
  request_id: t.stringOrNull(),
  previous_hash: t.string(),
  hash: t.string({ description: 'SHA-256 of the other fields as canonical JSON (RFC 8785).' }),
});

export const auditHeadSchema = t.orNull(
  t.object({ id: t.string(), hash: t.string() }, { description: 'Last entry of the log.', ...closed }),
);

export const secretsKeySchema = titled('SecretsKey', {
  id: t.string({ description: 'Id of the key, which is derived from it; `clear` for secrets in clear.' }),
  object: t.literal('secrets_key'),
  state: t.oneOf(sealStates, {
    description: 'Whether the key seals new secrets, only opens them, or is not configured.',
  }),
  secrets: t.integer(),
});
