import { budgetPeriods } from '../../core/budget.ts';
import * as t from '../../wire/schema/schema.ts';
import { batchEndpoints, batchStatuses } from '../../core/batch.ts';
import { directKinds } from '../../core/model.ts';
import { filePurposes } from '../../core/file.ts';
import { deliveryStatuses, eventTypes } from '../../core/webhook.ts';
import { waitingReasons } from '../../core/waiting.ts';

// Schemas of answers, for the OpenAPI document. Tests check real answers against them.

export const instant = t.string({ format: 'date-time' });
export const instantOrNull = t.stringOrNull({ format: 'date-time' });
/** Time of a batch: ISO 8601, or Unix seconds where configured. */
export const batchInstant = { type: ['string', 'integer'], format: 'date-time' };
export const batchInstantOrNull = { ...batchInstant, type: ['string', 'integer', 'null'] };
export const decimal = t.string({ pattern: '^[0-9]+(\\.[0-9]+)?$' });

export const closed = { additionalProperties: false };
export const titled = (title: string, fields: t.Fields) => t.object(fields, { title, ...closed });
const deleted = (title: string, object: string) =>
  titled(title, { id: t.string(), object: t.literal(object), deleted: t.literal(true) });

const tokens = { input_tokens: t.integer(), output_tokens: t.integer(), total_tokens: t.integer() };
const usage = t.object({
  ...tokens,
  input_tokens_details: t.object({ cached_tokens: t.integer() }),
  output_tokens_details: t.object({
    reasoning_tokens: t.integer({ description: 'Reasoning tokens, from engines that report them.' }),
  }),
});

const counts = t.object({ total: t.integer(), completed: t.integer(), failed: t.integer() }, closed);
const amounts = { currency: t.literal('USD'), amount: decimal, list_amount: decimal };
const cost = t.object(amounts);
const batchCost = t.object({
  ...amounts,
  uncached_amount: {
    ...decimal,
    description: 'What list_amount would be if no input had come from a prompt cache.',
  },
});

export const waiting = t.orNull(
  t.object(
    {
      reason: t.oneOf(waitingReasons),
      message: t.string(),
      since: batchInstant,
      until: { ...batchInstantOrNull, description: 'Time at which the wait ends, if known.' },
      'priority?': t.integer({ description: 'Priority of a queued batch within its org.' }),
      'weight?': t.integer({
        description: 'Share of the slots that the org of a queued batch gets, relative to other orgs.',
      }),
    },
    { description: 'Reason why no requests are sent to the model; null while it takes requests.', ...closed },
  ),
);

const warnings = t.array(
  t.object(
    {
      code: t.literal('unknown_field'),
      field: t.string({ description: 'Path in the body, such as max_token or messages[].contnt.' }),
      count: t.integer({ description: 'Number of requests with the field.' }),
      suggestion: t.stringOrNull({ description: 'Field that may be meant.' }),
      line: t.integerOrNull({ description: 'First line, or request from 1, with the field.' }),
    },
    closed,
  ),
  { description: 'Unknown fields in the bodies of the requests, such as misspelt parameters; up to 100.' },
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
  'warnings?': warnings,
});

export const deletedFileSchema = deleted('DeletedFile', 'file');

const batchFields = {
  id: t.string({ pattern: '^batch_' }),
  object: t.literal('batch'),
  name: t.stringOrNull({
    description: 'The name of the metadata, else the file name of the input; null without either.',
  }),
  endpoint: t.oneOf(batchEndpoints),
  model: t.stringOrNull({ description: 'Model of all requests; null where they name several.' }),
  priority: t.integer({ description: '0 to 9; batches of the org with a higher priority run first.' }),
  status: t.oneOf(batchStatuses),
  input_file_id: t.string(),
  output_file_id: t.stringOrNull(),
  error_file_id: t.stringOrNull(),
  completion_window: t.string({
    description: 'Window of the batch, such as 24h: the time from created_at to expires_at.',
  }),
  retry_of: t.stringOrNull({ description: 'Batch whose failed requests this one runs again.' }),
  errors: t.orNull(t.anyObject({ description: 'Errors of the batch as a whole.' })),
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
      description: 'Number of batches of the org that run before a queued batch.',
    }),
  }),
  waiting,
  at_risk: t.boolean({ description: 'True if the batch is not expected to finish within its window.' }),
  usage,
  cost: batchCost,
  error_summary: t.array(t.object({ code: t.string(), count: t.integer(), example: t.string() }, closed)),
  warnings,
  metadata: t.anyObject({ description: 'Metadata from the creation of the batch; empty without any.' }),
};

export const batchSchema = titled('Batch', batchFields);

export const operatorBatchSchema = titled('OperatorBatch', {
  ...batchFields,
  org_id: t.string({ pattern: '^org_' }),
  org: t.stringOrNull({ description: 'Name of the org.' }),
});

export const batchCountsSchema = titled('BatchCounts', {
  object: t.literal('batch.counts'),
  max: t.integer({ description: 'Highest number that is counted: it stands for itself or more.' }),
  counts: t.object(Object.fromEntries(batchStatuses.map((status) => [status, t.integer()])), {
    ...closed,
    description: 'Number of batches in each state.',
  }),
});

export const batchHistorySchema = titled('BatchHistory', {
  object: t.literal('batch.history'),
  id: t.string({ pattern: '^batch_' }),
  states: t.array(t.object({ status: t.oneOf(batchStatuses), at: batchInstant }, closed), {
    description: 'States in the order in which the batch reached them.',
  }),
  waits: t.array(
    t.object(
      {
        reason: t.oneOf(waitingReasons),
        message: t.string(),
        since: batchInstant,
        until: { ...batchInstantOrNull, description: 'Null while the wait lasts.' },
      },
      closed,
    ),
    { description: 'Waits of five seconds and more, oldest first.' },
  ),
  omitted_waits: t.integer({ description: 'Number of short waits that were dropped from many.' }),
  points: t.array(
    t.object(
      {
        at: batchInstant,
        completed: t.integer(),
        failed: t.integer(),
        input_tokens: t.integer(),
        output_tokens: t.integer(),
      },
      closed,
    ),
    { description: 'Counts so far, at instants from the first request on; at most 258.' },
  ),
});

export const estimateSchema = titled('BatchEstimate', {
  object: t.literal('batch.estimate'),
  endpoint: t.oneOf(batchEndpoints),
  completion_window: t.string({ description: 'Window of the request. cost and forecast are for this one.' }),
  request_counts: counts,
  usage: t.object(tokens),
  exact_input: t.boolean({
    description: 'True if the engines counted all input tokens; false if some are estimated.',
  }),
  cost,
  forecast: t.object(
    {
      eta: {
        ...batchInstantOrNull,
        description:
          'Time at which the batch would be done. Null while no rate of a model is known, or a model takes no requests.',
      },
      tokens_ahead: t.integer({
        description: 'Estimated tokens of other batches that are completed before.',
      }),
      at_risk: t.boolean({ description: 'True if the batch would miss its window.' }),
      waiting,
    },
    {
      description:
        'When the batch would be done if it were created now, at the rates measured in the last minutes, with the batches that are open.',
      ...closed,
    },
  ),
  windows: t.array(
    t.object(
      {
        completion_window: t.string(),
        cost,
        can_be_met: t.booleanOrNull({
          description:
            'False if the batch would miss the window; null while that is unknown. A window shorter than 24h that cannot be met is refused.',
        }),
        eta: {
          ...batchInstantOrNull,
          description: 'Time at which the batch would be done, at the earliest if it would miss the window.',
        },
        tokens_ahead: t.integer({
          description: 'Estimated tokens of other batches that are completed before.',
        }),
      },
      closed,
    ),
    { description: 'Price and forecast in each window that the configuration offers, shortest first.' },
  ),
  quota: t.object(
    {
      fits: t.boolean({ description: 'True if the batch could be created now.' }),
      reasons: t.array(t.object({ code: t.string(), message: t.string() }, closed), {
        description: 'Errors with which the batch would be refused now.',
      }),
      limits: t.array(
        t.object(
          {
            name: t.oneOf(['open_batches', 'queued_requests', 'queued_tokens', 'stored_bytes']),
            owner: t.oneOf(['org', 'key']),
            model: t.stringOrNull({ description: 'Model of queued_tokens.' }),
            limit: t.integer(),
            used: t.integer({ description: 'Use by unfinished batches, or by stored files.' }),
            adds: t.integer({ description: 'Use by this batch, without its results.' }),
          },
          closed,
        ),
      ),
      budgets: t.array(
        t.object(
          {
            owner: t.oneOf(['org', 'key']),
            period: t.oneOf(budgetPeriods),
            hard: t.boolean({ description: 'False if a used-up budget is only reported.' }),
            amount: t.string({ description: 'USD' }),
            spent: t.string({ description: 'USD, in the current period.' }),
            adds: t.string({ description: 'USD: estimated cost of the batch.' }),
          },
          closed,
        ),
      ),
    },
    { description: 'Limits and budgets that the batch counts against.', ...closed },
  ),
  warnings,
});

const rates = { input: decimal, cached_input: decimal, 'cache_write?': decimal, output: decimal };

export const modelSchema = titled('Model', {
  id: t.string(),
  object: t.literal('model'),
  created: t.unixTime,
  owned_by: t.string(),
  type: t.literal('model'),
  display_name: t.string(),
  created_at: instant,
  aliases: t.array(t.string()),
  serves: t.array(t.oneOf(['chat', 'completions', ...directKinds])),
  context_length: t.integerOrNull({
    description: 'Maximum tokens of a prompt and its answer together; null if unknown.',
  }),
  slots: t.integerOrNull({ description: 'Number of requests that run at once; null if unknown.' }),
  batch_only: t.boolean({
    description: 'True if only other processes serve the model: here it can be used in batches only.',
  }),
  pricing: t.object({
    currency: t.literal('USD'),
    unit: t.string(),
    ...rates,
    'tiers?': t.array(t.object({ above: t.integer(), ...rates }), {
      description: 'Prices of requests with more input tokens than `above`, ascending.',
    }),
  }),
  'replicas?': t.array(
    t.object(
      {
        name: t.string({ description: 'Address of the server, or model file.' }),
        health: t.oneOf(['up', 'open', 'half-open', 'draining']),
        slots: t.integer(),
        in_flight: t.integer(),
        waiting,
      },
      closed,
    ),
    { description: 'Servers of the model and their state; for admin keys only.' },
  ),
});

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
    description: 'Secret that verifies the signature of deliveries, shown only once.',
  }),
});

export const deletedWebhookSchema = deleted('DeletedWebhook', 'webhook_endpoint.deleted');

export const deliverySchema = titled('WebhookDelivery', {
  id: t.string({ pattern: '^dlv_' }),
  object: t.literal('webhook_delivery'),
  webhook_id: t.string(),
  event: t.object(
    {
      id: t.string({ description: 'Value of the webhook-id header of every attempt.' }),
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
  last_status_code: t.integerOrNull({ description: 'Status of the last answer, if there was one.' }),
  last_error: t.stringOrNull(),
});

export const pageOf = (item: t.Schema, more: t.Fields = {}) =>
  t.object({
    object: t.literal('list'),
    data: t.array(item),
    first_id: t.stringOrNull(),
    last_id: t.stringOrNull(),
    has_more: t.boolean(),
    ...more,
  });
