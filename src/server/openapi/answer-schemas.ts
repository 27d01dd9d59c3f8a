import * as t from '../../wire/schema/schema.ts';
import { batchEndpoints, batchStatuses } from '../../core/batch.ts';
import { budgetPeriods } from '../../core/budget.ts';
import { filePurposes } from '../../core/file.ts';
import { scopes } from '../../core/org.ts';
import { usageGroups } from '../../core/usage-report.ts';
import { deliveryStatuses, eventTypes } from '../../core/webhook.ts';
import { waitingReasons } from '../../core/waiting.ts';

/** What the operations answer, for the document. The tests check real answers against these. */

const instant = t.string({ format: 'date-time' });
const instantOrNull = t.stringOrNull({ format: 'date-time' });
/** Of a batch: ISO 8601, or Unix seconds where it is configured so. */
const batchInstant = { type: ['string', 'integer'], format: 'date-time' };
const batchInstantOrNull = { ...batchInstant, type: ['string', 'integer', 'null'] };
const decimal = t.string({ pattern: '^[0-9]+(\\.[0-9]+)?$' });

const closed = { additionalProperties: false };
const titled = (title: string, fields: t.Fields) => t.object(fields, { title, ...closed });
const deleted = (title: string, object: string) =>
  titled(title, { id: t.string(), object: t.literal(object), deleted: t.literal(true) });

const tokens = { input_tokens: t.integer(), output_tokens: t.integer(), total_tokens: t.integer() };
const usage = t.object({
  ...tokens,
  input_tokens_details: t.object({ cached_tokens: t.integer() }),
  output_tokens_details: t.object({
    reasoning_tokens: t.integer({ description: 'Those of the answers whose engine reports them.' }),
  }),
});

const counts = t.object({ total: t.integer(), completed: t.integer(), failed: t.integer() }, closed);
const cost = t.object({ currency: t.literal('USD'), amount: decimal, list_amount: decimal });

const waiting = t.orNull(
  t.object(
    {
      reason: t.oneOf(waitingReasons),
      message: t.string(),
      since: batchInstant,
      until: { ...batchInstantOrNull, description: 'When that ends by itself, where it is known.' },
    },
    { description: 'Why nothing is sent to the model at present.', ...closed },
  ),
);

export const fileSchema = titled('File', {
  id: t.string({ pattern: '^file-' }),
  object: t.literal('file'),
  bytes: t.integer(),
  created_at: t.unixTime,
  'expires_at?': t.unixTime,
  filename: t.string(),
  purpose: t.oneOf(filePurposes),
  status: t.literal('processed'),
});

export const deletedFileSchema = deleted('DeletedFile', 'file');

export const batchSchema = titled('Batch', {
  id: t.string({ pattern: '^batch_' }),
  object: t.literal('batch'),
  endpoint: t.oneOf(batchEndpoints),
  model: t.stringOrNull({ description: 'When all requests name the same one.' }),
  status: t.oneOf(batchStatuses),
  input_file_id: t.string(),
  output_file_id: t.stringOrNull(),
  error_file_id: t.stringOrNull(),
  completion_window: t.string({ description: 'From created_at to expires_at, such as 24h.' }),
  retry_of: t.stringOrNull({ description: 'The batch whose failed requests these are.' }),
  errors: t.orNull(t.anyObject({ description: 'Faults of the batch as a whole.' })),
  created_at: batchInstant,
  in_progress_at: batchInstantOrNull,
  expires_at: batchInstant,
  completed_at: batchInstantOrNull,
  failed_at: batchInstantOrNull,
  expired_at: batchInstantOrNull,
  cancelling_at: batchInstantOrNull,
  cancelled_at: batchInstantOrNull,
  request_counts: counts,
  progress: t.object({
    pending: t.integer(),
    running: t.integer(),
    rate_per_minute: t.numberOrNull(),
    eta: batchInstantOrNull,
    batches_ahead: t.integerOrNull({
      description: 'While it is queued: how many of the organization go before it.',
    }),
  }),
  waiting,
  at_risk: t.boolean({ description: 'By its pace, and what goes before it, it will miss its window.' }),
  usage,
  cost,
  error_summary: t.array(t.object({ code: t.string(), count: t.integer(), example: t.string() }, closed)),
  metadata: t.anyObject({ description: 'As it was given at creation; empty unless it was.' }),
});

export const estimateSchema = titled('BatchEstimate', {
  object: t.literal('batch.estimate'),
  endpoint: t.oneOf(batchEndpoints),
  request_counts: counts,
  usage: t.object(tokens),
  exact_input: t.boolean({
    description:
      'Whether the input tokens were counted by the engines of the models; else some are estimated.',
  }),
  cost,
});

export const modelSchema = titled('Model', {
  id: t.string(),
  object: t.literal('model'),
  created: t.unixTime,
  owned_by: t.string(),
  type: t.literal('model'),
  display_name: t.string(),
  created_at: instant,
  aliases: t.array(t.string()),
  serves: t.array(t.oneOf(['chat', 'embeddings', 'completions'])),
  context_length: t.integerOrNull({
    description: 'The most tokens of a prompt and its answer together; null where nobody knows.',
  }),
  slots: t.integerOrNull({
    description: 'How many requests it works on at once; null where that is not known.',
  }),
  batch_only: t.boolean({
    description:
      'Whether only other processes of the service serve it: batches for it may be created here, and no answers asked for.',
  }),
  pricing: t.object({
    currency: t.literal('USD'),
    unit: t.string(),
    input: decimal,
    cached_input: decimal,
    output: decimal,
  }),
  'replicas?': t.array(
    t.object(
      {
        name: t.string({ description: 'The address of the server, or the model file.' }),
        health: t.oneOf(['up', 'open', 'half-open', 'draining']),
        slots: t.integer(),
        in_flight: t.integer(),
        waiting,
      },
      closed,
    ),
    { description: 'For admin keys alone: the servers that have the model, and how they are.' },
  ),
});

export const orgSchema = titled('Org', {
  id: t.string({ pattern: '^org_' }),
  object: t.literal('org'),
  name: t.string(),
  created_at: instant,
  budget: t.orNull(
    t.object(
      {
        amount: decimal,
        period: t.oneOf(budgetPeriods),
        spent: { ...decimal, description: 'In this period.' },
        begins_again_at: instantOrNull,
      },
      { description: 'In USD; null where it may spend any amount.', ...closed },
    ),
  ),
});

const keyFields = {
  id: t.string({ pattern: '^key_' }),
  object: t.literal('api_key'),
  org_id: t.string(),
  name: t.string(),
  prefix: t.string({ description: 'Its first characters and its last four.' }),
  scopes: t.array(t.oneOf(scopes)),
  models: t.orNull(t.array(t.string())),
  created_at: instant,
  expires_at: instantOrNull,
  revoked_at: instantOrNull,
  last_used_at: instantOrNull,
};

export const keySchema = titled('ApiKey', keyFields);

export const newKeySchema = t.object(
  { ...keyFields, key: t.string({ description: 'The secret. It is shown here and never again.' }) },
  { title: 'NewApiKey', ...closed },
);

const webhookFields = {
  id: t.string({ pattern: '^wh_' }),
  object: t.literal('webhook_endpoint'),
  name: t.string(),
  url: t.string(),
  event_types: t.array(t.oneOf(eventTypes)),
  enabled: t.boolean(),
  disabled_at: t.integerOrNull(),
  disabled_reason: t.stringOrNull(),
  created_at: t.unixTime,
};

export const webhookSchema = titled('Webhook', webhookFields);

export const newWebhookSchema = titled('NewWebhook', {
  ...webhookFields,
  signing_secret: t.string({
    description: 'What deliveries are verified with. It is shown here alone.',
  }),
});

export const deletedWebhookSchema = deleted('DeletedWebhook', 'webhook_endpoint.deleted');

export const deliverySchema = titled('WebhookDelivery', {
  id: t.string({ pattern: '^dlv_' }),
  object: t.literal('webhook_delivery'),
  webhook_id: t.string(),
  event: t.object(
    {
      id: t.string({ description: 'The webhook-id of every attempt.' }),
      object: t.literal('event'),
      type: t.string(),
      created_at: t.unixTime,
      data: t.object({ id: t.string() }, closed),
    },
    closed,
  ),
  status: t.oneOf(deliveryStatuses),
  attempts: t.integer(),
  created_at: t.unixTime,
  next_attempt_at: t.integerOrNull(),
  last_attempt_at: t.integerOrNull(),
  last_status_code: t.integerOrNull({ description: 'What the receiver answered, if it did.' }),
  last_error: t.stringOrNull(),
});

export const embeddingsSchema = t.object(
  {
    object: t.literal('list'),
    model: t.string(),
    data: t.array(
      t.object({
        object: t.literal('embedding'),
        index: t.integer(),
        embedding: {
          type: ['array', 'string'],
          items: { type: 'number' },
          description: 'Numbers, or base64 of little-endian float32.',
        },
      }),
    ),
    usage: t.object({ prompt_tokens: t.integer(), total_tokens: t.integer() }),
  },
  { title: 'Embeddings' },
);

/** A page of a list. */
export const pageOf = (item: t.Schema, more: t.Fields = {}) =>
  t.object({
    object: t.literal('list'),
    data: t.array(item),
    first_id: t.stringOrNull(),
    last_id: t.stringOrNull(),
    has_more: t.boolean(),
    ...more,
  });

const day = t.string({ format: 'date' });
const used = {
  requests: t.integer(),
  input_tokens: t.integer({ description: 'With the cached ones.' }),
  cached_tokens: t.integer(),
  output_tokens: t.integer({ description: 'With the reasoning ones.' }),
  reasoning_tokens: t.integer(),
  amount: decimal,
};
const usageRow = {
  id: t.string(),
  'day?': day,
  'model?': t.string(),
  'org_id?': t.string(),
  'key_id?': t.orNull(t.string()),
  'batch_id?': t.orNull(t.string()),
  ...used,
};

export const usageSchema = pageOf(t.object(usageRow, closed), {
  start: day,
  end: day,
  group_by: t.array(t.oneOf(usageGroups)),
  currency: t.literal('USD'),
  total: t.orNull(
    t.object(used, {
      description: 'Of all rows, those of other pages too; null behind the first page.',
      ...closed,
    }),
  ),
});
