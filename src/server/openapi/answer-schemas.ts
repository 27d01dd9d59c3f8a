import {
  type Schema,
  anyObject,
  array,
  boolean,
  integer,
  integerOrNull,
  literal,
  numberOrNull,
  object,
  oneOf,
  orNull,
  string,
  stringOrNull,
  unixTime,
} from '../../wire/schema.ts';
import { batchEndpoints, batchStatuses } from '../../core/batch.ts';
import { budgetPeriods } from '../../core/budget.ts';
import { filePurposes } from '../../core/file.ts';
import { scopes } from '../../core/org.ts';
import { deliveryStatuses, eventTypes } from '../../core/webhook.ts';
import { waitingReasons } from '../../core/waiting.ts';

/** What the operations answer, for the document. The tests check real answers against these. */

const instant = string({ format: 'date-time' });
const instantOrNull = stringOrNull({ format: 'date-time' });
/** Of a batch: ISO 8601, or Unix seconds where it is configured so. */
const batchInstant = { type: ['string', 'integer'], format: 'date-time' };
const batchInstantOrNull = { ...batchInstant, type: ['string', 'integer', 'null'] };
const decimal = string({ pattern: '^[0-9]+(\\.[0-9]+)?$' });

const closed = { additionalProperties: false };

const usage = object({
  input_tokens: integer(),
  input_tokens_details: object({ cached_tokens: integer() }),
  output_tokens: integer(),
  output_tokens_details: object({ reasoning_tokens: integer() }),
  total_tokens: integer(),
});

const counts = object({ total: integer(), completed: integer(), failed: integer() }, closed);
const cost = object({ currency: literal('USD'), amount: decimal, list_amount: decimal });

const waiting = orNull(
  object(
    {
      reason: oneOf(waitingReasons),
      message: string(),
      since: batchInstant,
      until: { ...batchInstantOrNull, description: 'When that ends by itself, where it is known.' },
    },
    { description: 'Why nothing is sent to the model at present.', ...closed },
  ),
);

export const fileSchema = object(
  {
    id: string({ pattern: '^file-' }),
    object: literal('file'),
    bytes: integer(),
    created_at: unixTime,
    'expires_at?': unixTime,
    filename: string(),
    purpose: oneOf(filePurposes),
    status: literal('processed'),
  },
  { title: 'File', ...closed },
);

export const deletedFileSchema = object(
  { id: string(), object: literal('file'), deleted: literal(true) },
  { title: 'DeletedFile', ...closed },
);

export const batchSchema = object(
  {
    id: string({ pattern: '^batch_' }),
    object: literal('batch'),
    endpoint: oneOf(batchEndpoints),
    model: stringOrNull({ description: 'When all requests name the same one.' }),
    status: oneOf(batchStatuses),
    input_file_id: string(),
    output_file_id: stringOrNull(),
    error_file_id: stringOrNull(),
    completion_window: string({ description: 'From created_at to expires_at, such as 24h.' }),
    retry_of: stringOrNull({ description: 'The batch whose failed requests these are.' }),
    errors: orNull(anyObject({ description: 'Faults of the batch as a whole.' })),
    created_at: batchInstant,
    in_progress_at: batchInstantOrNull,
    expires_at: batchInstant,
    completed_at: batchInstantOrNull,
    failed_at: batchInstantOrNull,
    expired_at: batchInstantOrNull,
    cancelling_at: batchInstantOrNull,
    cancelled_at: batchInstantOrNull,
    request_counts: counts,
    progress: object({
      pending: integer(),
      running: integer(),
      rate_per_minute: numberOrNull(),
      eta: batchInstantOrNull,
      batches_ahead: integerOrNull({
        description: 'While it is queued: how many of the organization go before it.',
      }),
    }),
    waiting,
    at_risk: boolean({ description: 'By its pace, and what goes before it, it will miss its window.' }),
    usage,
    cost,
    error_summary: array(object({ code: string(), count: integer(), example: string() }, closed)),
    metadata: orNull(anyObject({ description: 'As it was given at creation.' })),
  },
  { title: 'Batch', ...closed },
);

export const estimateSchema = object(
  {
    object: literal('batch.estimate'),
    endpoint: oneOf(batchEndpoints),
    request_counts: counts,
    usage,
    exact_input: boolean({
      description:
        'Whether the input tokens were counted by the engines of the models; else some are estimated.',
    }),
    cost,
  },
  { title: 'BatchEstimate', ...closed },
);

export const modelSchema = object(
  {
    id: string(),
    object: literal('model'),
    created: unixTime,
    owned_by: string(),
    type: literal('model'),
    display_name: string(),
    created_at: instant,
    aliases: array(string()),
    serves: array(oneOf(['chat', 'embeddings', 'completions'])),
    context_length: integerOrNull({
      description: 'The most tokens of a prompt and its answer together; null where nobody knows.',
    }),
    slots: integerOrNull({
      description: 'How many requests it works on at once; null where that is not known.',
    }),
    batch_only: boolean({
      description:
        'Whether only other processes of the service serve it: batches for it may be created here, and no answers asked for.',
    }),
    pricing: object({
      currency: literal('USD'),
      unit: string(),
      input: decimal,
      cached_input: decimal,
      output: decimal,
    }),
    'replicas?': array(
      object(
        {
          name: string({ description: 'The address of the server, or the model file.' }),
          health: oneOf(['up', 'open', 'half-open', 'draining']),
          slots: integer(),
          in_flight: integer(),
          waiting,
        },
        closed,
      ),
      { description: 'For admin keys alone: the servers that have the model, and how they are.' },
    ),
  },
  { title: 'Model', ...closed },
);

export const orgSchema = object(
  {
    id: string({ pattern: '^org_' }),
    object: literal('org'),
    name: string(),
    created_at: instant,
    budget: orNull(
      object(
        {
          amount: decimal,
          period: oneOf(budgetPeriods),
          spent: { ...decimal, description: 'In this period.' },
          begins_again_at: instantOrNull,
        },
        { description: 'In USD; null where it may spend any amount.', ...closed },
      ),
    ),
  },
  { title: 'Org', ...closed },
);

const keyFields = {
  id: string({ pattern: '^key_' }),
  object: literal('api_key'),
  org_id: string(),
  name: string(),
  prefix: string({ description: 'Its first characters and its last four.' }),
  scopes: array(oneOf(scopes)),
  models: orNull(array(string())),
  created_at: instant,
  expires_at: instantOrNull,
  revoked_at: instantOrNull,
  last_used_at: instantOrNull,
};

export const keySchema = object(keyFields, { title: 'ApiKey', ...closed });

export const newKeySchema = object(
  { ...keyFields, key: string({ description: 'The secret. It is shown here and never again.' }) },
  { title: 'NewApiKey', ...closed },
);

const webhookFields = {
  id: string({ pattern: '^wh_' }),
  object: literal('webhook_endpoint'),
  name: string(),
  url: string(),
  event_types: array(oneOf(eventTypes)),
  enabled: boolean(),
  disabled_at: integerOrNull(),
  disabled_reason: stringOrNull(),
  created_at: unixTime,
};

export const webhookSchema = object(webhookFields, { title: 'Webhook', ...closed });

export const newWebhookSchema = object(
  {
    ...webhookFields,
    signing_secret: string({
      description: 'What deliveries are verified with. It is shown here alone.',
    }),
  },
  { title: 'NewWebhook', ...closed },
);

export const deletedWebhookSchema = object(
  { id: string(), object: literal('webhook_endpoint.deleted'), deleted: literal(true) },
  { title: 'DeletedWebhook', ...closed },
);

export const deliverySchema = object(
  {
    id: string({ pattern: '^dlv_' }),
    object: literal('webhook_delivery'),
    webhook_id: string(),
    event: object(
      {
        id: string({ description: 'The webhook-id of every attempt.' }),
        object: literal('event'),
        type: string(),
        created_at: unixTime,
        data: object({ id: string() }, closed),
      },
      closed,
    ),
    status: oneOf(deliveryStatuses),
    attempts: integer(),
    created_at: unixTime,
    next_attempt_at: integerOrNull(),
    last_attempt_at: integerOrNull(),
    last_status_code: integerOrNull({ description: 'What the receiver answered, if it did.' }),
    last_error: stringOrNull(),
  },
  { title: 'WebhookDelivery', ...closed },
);

export const embeddingsSchema = object(
  {
    object: literal('list'),
    model: string(),
    data: array(
      object({
        object: literal('embedding'),
        index: integer(),
        embedding: {
          type: ['array', 'string'],
          items: { type: 'number' },
          description: 'Numbers, or base64 of little-endian float32.',
        },
      }),
    ),
    usage: object({ prompt_tokens: integer(), total_tokens: integer() }),
  },
  { title: 'Embeddings' },
);

/** A page of a list. */
export const pageOf = (item: Schema) =>
  object({
    object: literal('list'),
    data: array(item),
    first_id: stringOrNull(),
    last_id: stringOrNull(),
    has_more: boolean(),
  });
