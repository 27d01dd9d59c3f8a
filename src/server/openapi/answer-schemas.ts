import { type Schema, Type } from '../../wire/json-schema.ts';
import { batchEndpoints, batchStatuses } from '../../core/batch.ts';
import { budgetPeriods } from '../../core/budget.ts';
import { filePurposes } from '../../core/file.ts';
import { scopes } from '../../core/org.ts';
import { deliveryStatuses, eventTypes } from '../../core/webhook.ts';
import { waitingReasons } from '../../core/waiting.ts';

/** What the operations answer, for the document. The tests check real answers against these. */

const nullable = (type: string, more: object = {}) => ({ type: [type, 'null'], ...more });
const instant = Type.String({ format: 'date-time' });
const instantOrNull = nullable('string', { format: 'date-time' });
/** Of a batch: ISO 8601, or Unix seconds where it is configured so. */
const batchInstant = { type: ['string', 'integer'], format: 'date-time' };
const batchInstantOrNull = { ...batchInstant, type: ['string', 'integer', 'null'] };
const unixSeconds = Type.Integer({ description: 'Unix time in seconds.' });
const decimal = Type.String({ pattern: '^[0-9]+(\\.[0-9]+)?$' });
const choice = (values: readonly string[]) => ({ type: 'string', enum: [...values] });

const closed = { additionalProperties: false };

const usage = Type.Object({
  input_tokens: Type.Integer(),
  input_tokens_details: Type.Object({ cached_tokens: Type.Integer() }),
  output_tokens: Type.Integer(),
  output_tokens_details: Type.Object({ reasoning_tokens: Type.Integer() }),
  total_tokens: Type.Integer(),
});

const counts = Type.Object(
  { total: Type.Integer(), completed: Type.Integer(), failed: Type.Integer() },
  closed,
);
const cost = Type.Object({ currency: Type.Literal('USD'), amount: decimal, list_amount: decimal });

const waiting = {
  type: ['object', 'null'],
  description: 'Why nothing is sent to the model at present.',
  properties: {
    reason: choice(waitingReasons),
    message: Type.String(),
    since: batchInstant,
    until: { ...batchInstantOrNull, description: 'When that ends by itself, where it is known.' },
  },
  required: ['reason', 'message', 'since', 'until'],
  ...closed,
};

export const fileSchema = Type.Object(
  {
    id: Type.String({ pattern: '^file-' }),
    object: Type.Literal('file'),
    bytes: Type.Integer(),
    created_at: unixSeconds,
    expires_at: Type.Optional(unixSeconds),
    filename: Type.String(),
    purpose: choice(filePurposes),
    status: Type.Literal('processed'),
  },
  { title: 'File', ...closed },
);

export const deletedFileSchema = Type.Object(
  { id: Type.String(), object: Type.Literal('file'), deleted: Type.Literal(true) },
  { title: 'DeletedFile', ...closed },
);

export const batchSchema = Type.Object(
  {
    id: Type.String({ pattern: '^batch_' }),
    object: Type.Literal('batch'),
    endpoint: choice(batchEndpoints),
    model: nullable('string', { description: 'When all requests name the same one.' }),
    status: choice(batchStatuses),
    input_file_id: Type.String(),
    output_file_id: nullable('string'),
    error_file_id: nullable('string'),
    completion_window: Type.String({ description: 'From created_at to expires_at, such as 24h.' }),
    retry_of: nullable('string', { description: 'The batch whose failed requests these are.' }),
    errors: nullable('object', { description: 'Faults of the batch as a whole.' }),
    created_at: batchInstant,
    in_progress_at: batchInstantOrNull,
    expires_at: batchInstant,
    completed_at: batchInstantOrNull,
    failed_at: batchInstantOrNull,
    expired_at: batchInstantOrNull,
    cancelling_at: batchInstantOrNull,
    cancelled_at: batchInstantOrNull,
    request_counts: counts,
    progress: Type.Object({
      pending: Type.Integer(),
      running: Type.Integer(),
      rate_per_minute: nullable('number'),
      eta: batchInstantOrNull,
      batches_ahead: nullable('integer', {
        description: 'While it is queued: how many of the organization go before it.',
      }),
    }),
    waiting,
    at_risk: Type.Boolean({ description: 'By its pace, and what goes before it, it will miss its window.' }),
    usage,
    cost,
    error_summary: Type.Array(
      Type.Object({ code: Type.String(), count: Type.Integer(), example: Type.String() }, closed),
    ),
    metadata: nullable('object', { description: 'As it was given at creation.' }),
  },
  { title: 'Batch', ...closed },
);

export const estimateSchema = Type.Object(
  {
    object: Type.Literal('batch.estimate'),
    endpoint: choice(batchEndpoints),
    request_counts: counts,
    usage,
    exact_input: Type.Boolean({
      description:
        'Whether the input tokens were counted by the engines of the models; else some are estimated.',
    }),
    cost,
  },
  { title: 'BatchEstimate', ...closed },
);

export const modelSchema = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('model'),
    created: unixSeconds,
    owned_by: Type.String(),
    type: Type.Literal('model'),
    display_name: Type.String(),
    created_at: instant,
    aliases: Type.Array(Type.String()),
    serves: Type.Array(choice(['chat', 'embeddings', 'completions'])),
    context_length: nullable('integer', {
      description: 'The most tokens of a prompt and its answer together; null where nobody knows.',
    }),
    slots: nullable('integer', {
      description: 'How many requests it works on at once; null where that is not known.',
    }),
    batch_only: Type.Boolean({
      description:
        'Whether only other processes of the service serve it: batches for it may be created here, and no answers asked for.',
    }),
    pricing: Type.Object({
      currency: Type.Literal('USD'),
      unit: Type.String(),
      input: decimal,
      cached_input: decimal,
      output: decimal,
    }),
    replicas: Type.Optional(
      Type.Array(
        Type.Object(
          {
            name: Type.String({ description: 'The address of the server, or the model file.' }),
            health: choice(['up', 'open', 'half-open', 'draining']),
            slots: Type.Integer(),
            in_flight: Type.Integer(),
            waiting,
          },
          closed,
        ),
        { description: 'For admin keys alone: the servers that have the model, and how they are.' },
      ),
    ),
  },
  { title: 'Model', ...closed },
);

export const orgSchema = Type.Object(
  {
    id: Type.String({ pattern: '^org_' }),
    object: Type.Literal('org'),
    name: Type.String(),
    created_at: instant,
    budget: {
      type: ['object', 'null'],
      description: 'In USD; null where it may spend any amount.',
      properties: {
        amount: decimal,
        period: choice(budgetPeriods),
        spent: { ...decimal, description: 'In this period.' },
        begins_again_at: instantOrNull,
      },
      required: ['amount', 'period', 'spent', 'begins_again_at'],
      ...closed,
    },
  },
  { title: 'Org', ...closed },
);

const keyFields = {
  id: Type.String({ pattern: '^key_' }),
  object: Type.Literal('api_key'),
  org_id: Type.String(),
  name: Type.String(),
  prefix: Type.String({ description: 'Its first characters and its last four.' }),
  scopes: Type.Array(choice(scopes)),
  models: nullable('array', { items: { type: 'string' } }),
  created_at: instant,
  expires_at: instantOrNull,
  revoked_at: instantOrNull,
  last_used_at: instantOrNull,
};

export const keySchema = Type.Object(keyFields, { title: 'ApiKey', ...closed });

export const newKeySchema = Type.Object(
  { ...keyFields, key: Type.String({ description: 'The secret. It is shown here and never again.' }) },
  { title: 'NewApiKey', ...closed },
);

const webhookFields = {
  id: Type.String({ pattern: '^wh_' }),
  object: Type.Literal('webhook_endpoint'),
  name: Type.String(),
  url: Type.String(),
  event_types: Type.Array(choice(eventTypes)),
  enabled: Type.Boolean(),
  disabled_at: nullable('integer'),
  disabled_reason: nullable('string'),
  created_at: unixSeconds,
};

export const webhookSchema = Type.Object(webhookFields, { title: 'Webhook', ...closed });

export const newWebhookSchema = Type.Object(
  {
    ...webhookFields,
    signing_secret: Type.String({
      description: 'What deliveries are verified with. It is shown here alone.',
    }),
  },
  { title: 'NewWebhook', ...closed },
);

export const deletedWebhookSchema = Type.Object(
  { id: Type.String(), object: Type.Literal('webhook_endpoint.deleted'), deleted: Type.Literal(true) },
  { title: 'DeletedWebhook', ...closed },
);

export const deliverySchema = Type.Object(
  {
    id: Type.String({ pattern: '^dlv_' }),
    object: Type.Literal('webhook_delivery'),
    webhook_id: Type.String(),
    event: Type.Object(
      {
        id: Type.String({ description: 'The webhook-id of every attempt.' }),
        object: Type.Literal('event'),
        type: Type.String(),
        created_at: unixSeconds,
        data: Type.Object({ id: Type.String() }, closed),
      },
      closed,
    ),
    status: choice(deliveryStatuses),
    attempts: Type.Integer(),
    created_at: unixSeconds,
    next_attempt_at: nullable('integer'),
    last_attempt_at: nullable('integer'),
    last_status_code: nullable('integer', { description: 'What the receiver answered, if it did.' }),
    last_error: nullable('string'),
  },
  { title: 'WebhookDelivery', ...closed },
);

export const embeddingsSchema = Type.Object(
  {
    object: Type.Literal('list'),
    model: Type.String(),
    data: Type.Array(
      Type.Object({
        object: Type.Literal('embedding'),
        index: Type.Integer(),
        embedding: {
          type: ['array', 'string'],
          items: { type: 'number' },
          description: 'Numbers, or base64 of little-endian float32.',
        },
      }),
    ),
    usage: Type.Object({ prompt_tokens: Type.Integer(), total_tokens: Type.Integer() }),
  },
  { title: 'Embeddings' },
);

/** A page of a list. */
export const pageOf = (item: Schema) =>
  Type.Object({
    object: Type.Literal('list'),
    data: Type.Array(item),
    first_id: nullable('string'),
    last_id: nullable('string'),
    has_more: Type.Boolean(),
  });
