import { batchStatuses } from '../../core/batch.ts';
import { lineStates } from '../../core/line.ts';
import { filePurposes } from '../../core/file.ts';
import { auditActions } from '../../core/audit.ts';
import { auditListLimits } from '../../wire/admin/audit.ts';
import { hourlyDays, usageGroups } from '../../core/usage-report.ts';
import { searchLimits } from '../../core/batch-search.ts';
import { waitingReasons } from '../../core/waiting.ts';
import { requestListLimits, statusPattern } from '../../wire/admin/requests.ts';
import { lineListLimits, maxSample, maxSearch } from '../../wire/batch/lines.ts';
import { batchListLimits } from '../../wire/batch/list.ts';
import { fileListLimits } from '../../wire/file/list.ts';
import { messageBatchListLimits } from '../../wire/message-batches/list.ts';
import { modelListLimits } from '../../wire/models/list.ts';
import { webhookListLimits } from '../../wire/webhooks/webhook.ts';
import { usageLimits } from '../../wire/usage/report.ts';
import { bucketParams, type Report } from '../../wire/usage/openai-usage.ts';
import { itemsLimits, type PageLimits } from '../../wire/shared/query-params.ts';

/** Query parameters by name, each as a JSON Schema with the bounds that the parsers enforce. */
export type QueryDocs = Record<string, { type: string; description: string; [keyword: string]: unknown }>;

const limit = (limits: PageLimits) => ({
  type: 'integer',
  minimum: 1,
  maximum: limits.max,
  default: limits.default,
  description: 'Page size.',
});

const text = (description: string) => ({ type: 'string', description });
const order = (usual: 'asc' | 'desc', description: string) => ({
  ...text(description),
  enum: ['asc', 'desc'],
  default: usual,
});
const after = text('Id after which the page starts: last_id of the previous page.');

const afterLine = {
  type: 'integer',
  minimum: 0,
  description: 'Number of the line after which the page starts, also of a line that does not match.',
};

export const operatorLineListQuery: QueryDocs = {
  limit: limit(lineListLimits),
  after: afterLine,
  state: { type: 'string', enum: [...lineStates], description: 'Only lines in this state.' },
  code: text('Only lines that failed with this error code.'),
  custom_id: text('Only the line with this custom_id.'),
  sample: {
    type: 'integer',
    minimum: 1,
    maximum: maxSample,
    description: 'That many random lines, in their order, instead of a page.',
  },
  seed: {
    type: 'integer',
    minimum: 0,
    maximum: 0xff_ff_ff_ff,
    description: 'Seed of the sample: the same one gives the same lines.',
  },
};

export const lineListQuery: QueryDocs = {
  ...operatorLineListQuery,
  q: {
    ...text('Only lines with this text in the custom_id, the request or the answer, in any case.'),
    maxLength: maxSearch,
  },
};

const batchFilters: QueryDocs = {
  q: {
    ...text('Only batches whose id, input file name or metadata values contain these words, in any case.'),
    maxLength: searchLimits.length,
  },
  status: { type: 'string', enum: batchStatuses, description: 'Only batches in this state.' },
  model: text('Only batches with requests to this model, given by its id or an alias.'),
  waiting: {
    type: 'string',
    enum: ['any', ...waitingReasons],
    description: 'Only batches that wait for this reason, or for any.',
  },
  at_risk: {
    type: 'boolean',
    description: 'Only batches that are, or are not, at risk of missing their window.',
  },
  created_after: text('Only batches created at or after this time: ISO 8601, or Unix seconds.'),
  created_before: text('Only batches created before this time: ISO 8601, or Unix seconds.'),
};

export const batchListQuery: QueryDocs = {
  limit: limit(batchListLimits),
  after,
  order: order('desc', 'Order by creation.'),
  ...batchFilters,
};

const ofOrg = { org: text('Only batches of this org, given by its id or its name.') };

export const allBatchCountsQuery: QueryDocs = ofOrg;

export const allBatchesQuery: QueryDocs = { ...batchListQuery, ...ofOrg };

export const batchStreamQuery: QueryDocs = {
  ...batchFilters,
  last_event_id: text('Id of the last event received; the header Last-Event-ID means the same.'),
};

export const allBatchesStreamQuery: QueryDocs = { ...batchStreamQuery, ...ofOrg };

export const requestListQuery: QueryDocs = {
  limit: limit(requestListLimits),
  after,
  org: text('Only requests of this org, given by its id or its name.'),
  model: text('Only requests that this model answered, given by its id or an alias.'),
  key_id: text('Only requests of this key.'),
  status: {
    type: 'string',
    pattern: statusPattern,
    description:
      'Only requests with this HTTP status, of a class such as `5xx`, or with `error` those of 400 and above.',
  },
};

export const messageBatchListQuery: QueryDocs = {
  limit: { ...limit(messageBatchListLimits), description: 'Page size; larger values are reduced to 100.' },
  after_id: text('Id after which the page starts.'),
  before_id: text('Id before which the page ends.'),
};

export const fileListQuery: QueryDocs = {
  limit: limit(fileListLimits),
  after,
  order: order('desc', 'Order by creation.'),
  purpose: { type: 'string', enum: filePurposes, description: 'Only files with this purpose.' },
};

export const webhookListQuery: QueryDocs = { limit: limit(webhookListLimits), after };

export const modelListQuery: QueryDocs = {
  limit: limit(modelListLimits),
  after_id: text('Id after which the page starts; `after` means the same.'),
  before_id: text('Id before which the page ends.'),
};

export const resultsQuery: QueryDocs = {
  after: {
    type: 'integer',
    minimum: 0,
    default: 0,
    description: 'Number of lines to skip: the last X-Last-Line received.',
  },
};

/** Largest page of the lists of orgs and keys, which are whole without a limit. */
export const accountListLimits = { max: 1_000 } as const;

export const orgListQuery: QueryDocs = {
  limit: {
    type: 'integer',
    minimum: 1,
    maximum: accountListLimits.max,
    description: 'Page size; the whole list by default.',
  },
  after,
};

export const keyListQuery: QueryDocs = {
  ...orgListQuery,
  org_id: text('Only keys of this org: an id or a name.'),
};

export const auditListQuery: QueryDocs = {
  limit: limit(auditListLimits),
  after,
  order: order('desc', 'Order by time.'),
  actor: text('Only changes by the key with this id.'),
  action: { type: 'string', enum: auditActions, description: 'Only changes of this kind.' },
  target: text('Only changes of what has this id.'),
};

export const usageQuery: QueryDocs = {
  start: { ...text('First day (UTC); by default, 30 days are reported.'), format: 'date' },
  end: { ...text('Last day (UTC), inclusive; today by default.'), format: 'date' },
  group_by: {
    ...text(`Any of ${usageGroups.join(', ')}, separated by commas. Hours are kept for ${hourlyDays} days.`),
    default: 'day,model',
  },
  org_id: text('Only this org: an id or a name. Another org than that of the key requires an admin key.'),
  limit: limit(usageLimits),
  after,
};

const bucketTexts: QueryDocs = {
  start_time: text('Start of the first bucket, in Unix seconds; required.'),
  end_time: text('End of the last bucket, in Unix seconds; now by default.'),
  bucket_width: text('1d, or 1h for the last 40 days.'),
  project_ids: text('Only these orgs, given by their ids or, with an admin key, their names.'),
  user_ids: text('Not supported: usage is recorded by key.'),
  api_key_ids: text('Only these keys.'),
  models: text('Only these models.'),
  batch: text('true for batches, false for single requests.'),
  group_by: text('project_id, api_key_id, model, batch or line_item, where the report has it.'),
  limit: text('Buckets of a page.'),
  page: text('next_page of the previous page.'),
};

/** Queries of the reports in OpenAI's form. */
export const bucketQueries = Object.fromEntries(
  Object.entries(bucketParams).map(([report, names]) => [
    report,
    Object.fromEntries(names.map((name) => [name, bucketTexts[name]!])),
  ]),
) as Record<Report, QueryDocs>;

export const inputItemsQuery: QueryDocs = {
  limit: limit(itemsLimits),
  after,
  order: order('desc', 'Order by position in the input.'),
};

export const retrieveResponseQuery: QueryDocs = {
  stream: { type: 'boolean', default: false, description: 'Answer with server-sent events.' },
  starting_after: {
    type: 'integer',
    minimum: 0,
    description: 'With stream=true: sequence_number of the last event received.',
  },
};

export const chatMessagesQuery: QueryDocs = {
  limit: limit(itemsLimits),
  after,
  order: order('asc', 'Order by position, or by creation.'),
};

export const chatListQuery: QueryDocs = {
  ...chatMessagesQuery,
  model: text('Only completions of this model.'),
  metadata: { type: 'object', description: 'Only completions with this metadata: metadata[name]=value.' },
};
