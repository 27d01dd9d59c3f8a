import { batchStatuses } from '../../core/batch.ts';
import { filePurposes } from '../../core/file.ts';
import { batchListLimits } from '../../wire/batch/list.ts';
import { fileListLimits } from '../../wire/file/list.ts';
import { messageBatchListLimits } from '../../wire/message-batches/list.ts';
import { modelListLimits } from '../../wire/models/list.ts';
import { webhookListLimits } from '../../wire/webhooks/webhook.ts';
import { usageLimits } from '../../wire/usage/report.ts';
import { itemsLimits, type PageLimits } from '../../wire/shared/query-params.ts';

/** The parameters of a query by name, each as a JSON Schema. The bounds are those the parsers enforce. */
export type QueryDocs = Record<string, { type: string; description: string; [keyword: string]: unknown }>;

const limit = (limits: PageLimits) => ({
  type: 'integer',
  minimum: 1,
  maximum: limits.max,
  default: limits.default,
  description: 'Page size.',
});

const after = {
  type: 'string',
  description: 'The id after which the page starts; last_id of the page before.',
};

export const batchListQuery: QueryDocs = {
  limit: limit(batchListLimits),
  after,
  order: { type: 'string', enum: ['asc', 'desc'], default: 'desc', description: 'By creation.' },
  status: { type: 'string', enum: batchStatuses, description: 'Only batches in this state.' },
  created_after: {
    type: 'string',
    description: 'Only batches created at or after this time: ISO 8601, or Unix seconds.',
  },
};

export const messageBatchListQuery: QueryDocs = {
  limit: { ...limit(messageBatchListLimits), description: 'Page size; a page has 100 batches at most.' },
  after_id: { type: 'string', description: 'The id after which the page starts.' },
  before_id: { type: 'string', description: 'The id before which the page ends.' },
};

export const fileListQuery: QueryDocs = {
  limit: limit(fileListLimits),
  after,
  order: { type: 'string', enum: ['asc', 'desc'], default: 'desc', description: 'By creation.' },
  purpose: { type: 'string', enum: filePurposes, description: 'Only files with this purpose.' },
};

export const webhookListQuery: QueryDocs = { limit: limit(webhookListLimits), after };

export const modelListQuery: QueryDocs = {
  limit: limit(modelListLimits),
  after_id: { type: 'string', description: 'The id after which the page starts; `after` means the same.' },
  before_id: { type: 'string', description: 'The id before which the page ends.' },
};

export const resultsQuery: QueryDocs = {
  after: {
    type: 'integer',
    minimum: 0,
    default: 0,
    description: 'How many lines you have: the last X-Last-Line.',
  },
};

export const keyListQuery: QueryDocs = {
  org_id: { type: 'string', description: 'Only keys of this org.' },
};

export const usageQuery: QueryDocs = {
  start: { type: 'string', format: 'date', description: 'The first day (UTC); else 30 with the last.' },
  end: { type: 'string', format: 'date', description: 'The last day, included; else today.' },
  group_by: { type: 'string', default: 'day,model', description: 'Some of day, model, org, key, batch.' },
  org_id: { type: 'string', description: 'Only this org; any but its own takes an admin key.' },
  limit: limit(usageLimits),
  after,
};

export const inputItemsQuery: QueryDocs = {
  limit: limit(itemsLimits),
  after,
  order: { type: 'string', enum: ['asc', 'desc'], default: 'desc', description: 'By place in the input.' },
};

export const retrieveResponseQuery: QueryDocs = {
  stream: { type: 'boolean', default: false, description: 'Answer with server-sent events.' },
  starting_after: {
    type: 'integer',
    minimum: 0,
    description: 'With stream=true: the sequence_number of the last event you have.',
  },
};

export const chatMessagesQuery: QueryDocs = {
  limit: limit(itemsLimits),
  after,
  order: { type: 'string', enum: ['asc', 'desc'], default: 'asc', description: 'By place, or by creation.' },
};

export const chatListQuery: QueryDocs = {
  ...chatMessagesQuery,
  model: { type: 'string', description: 'Only those that this model made.' },
  metadata: {
    type: 'object',
    description: 'Only those that are marked so: metadata[name]=value.',
  },
};
