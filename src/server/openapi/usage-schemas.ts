import { budgetPeriods } from '../../core/budget.ts';
import { usageGroups, usageTiers } from '../../core/usage-report.ts';
import * as t from '../../wire/schema/schema.ts';
import { closed, decimal, instantOrNull, pageOf } from './answer-schemas.ts';

// Schemas of answers about usage and cost.

const day = t.string({ format: 'date' });
const used = {
  requests: t.integer(),
  input_tokens: t.integer({ description: 'Including cached tokens and those written to a cache.' }),
  cached_tokens: t.integer(),
  cache_write_tokens: t.integer({ description: 'Written to a prompt cache that charges for it.' }),
  output_tokens: t.integer({ description: 'Including reasoning tokens.' }),
  reasoning_tokens: t.integer(),
  amount: decimal,
};
const usageRow = {
  id: t.string(),
  'day?': day,
  'hour?': t.string({ format: 'date-time', description: 'Start of the hour.' }),
  'model?': t.string(),
  'org_id?': t.string(),
  'org?': t.stringOrNull({ description: 'Name of the org.' }),
  'key_id?': t.orNull(t.string()),
  'key_name?': t.stringOrNull(),
  'endpoint?': t.orNull(t.string()),
  'batch_id?': t.orNull(t.string()),
  'tier?': t.oneOf(usageTiers, { description: 'Tier that served the requests; batch for lines of batches.' }),
  'tag?': t.orNull(t.string({ description: 'Value of the metadata member `tag`, or as configured.' })),
  ...used,
};

const bucketResult = t.object(
  {
    object: t.string(),
    'input_tokens?': t.integer(),
    'output_tokens?': t.integer(),
    'input_cached_tokens?': t.integer(),
    'input_audio_tokens?': t.integer(),
    'output_audio_tokens?': t.integer(),
    'num_model_requests?': t.integer(),
    'amount?': t.object({ value: { type: 'number' }, currency: t.literal('usd') }),
    'project_id?': t.stringOrNull({ description: 'Id of the org.' }),
    'user_id?': t.stringOrNull(),
    'api_key_id?': t.stringOrNull(),
    'model?': t.stringOrNull(),
    'line_item?': t.stringOrNull({ description: 'Model.' }),
    'batch?': t.booleanOrNull(),
    'service_tier?': t.oneOfOrNull(usageTiers),
  },
  closed,
);

/** Page of a report in OpenAI's form. */
export const bucketPageSchema = t.object({
  object: t.literal('page'),
  data: t.array(
    t.object({
      object: t.literal('bucket'),
      start_time: t.integer(),
      end_time: t.integer(),
      results: t.array(bucketResult),
    }),
  ),
  has_more: t.boolean(),
  next_page: t.stringOrNull(),
});

export const usageSchema = pageOf(t.object(usageRow, closed), {
  start: day,
  end: day,
  group_by: t.array(t.oneOf(usageGroups)),
  org_id: t.stringOrNull({ description: 'Org that the report is about; null for all orgs.' }),
  org: t.stringOrNull({ description: 'Name of the org.' }),
  currency: t.literal('USD'),
  total: t.orNull(
    t.object(used, { description: 'Sum of all rows of all pages; null after the first page.', ...closed }),
  ),
  budgets: t.array(
    t.object(
      {
        org_id: t.string(),
        org: t.stringOrNull(),
        key_id: t.stringOrNull({ description: 'Null for the budget of the org.' }),
        key_name: t.stringOrNull(),
        amount: decimal,
        period: t.oneOf(budgetPeriods),
        hard: t.boolean(),
        spent: decimal,
        reached_at: instantOrNull,
      },
      closed,
    ),
    { description: 'Budgets of the reported orgs and their keys; empty after the first page.' },
  ),
});
