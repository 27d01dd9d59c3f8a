import * as t from '../../wire/schema/schema.ts';
import { actionKinds, actionStatuses, maxFailures } from '../../core/batch-action.ts';
import { batchInstant, batchInstantOrNull, closed, titled } from './answer-schemas.ts';

// Schemas of actions on many batches.

export const batchActionSchema = titled('BatchActionJob', {
  id: t.string({ pattern: '^act_' }),
  object: t.literal('batch_action'),
  action: t.oneOf(actionKinds),
  codes: { type: ['array', 'null'], items: t.string(), description: 'Error codes of a retry.' },
  priority: t.integerOrNull({ description: 'New priority.' }),
  status: t.oneOf(actionStatuses),
  total: t.integer({ description: 'Batches that matched when the action began.' }),
  done: t.integer({ description: 'Batches that it changed, or made a retry of.' }),
  failed: t.integer(),
  skipped: t.integer({ description: 'Batches that it does not apply to any more.' }),
  failures: t.array(t.object({ batch_id: t.string(), code: t.string(), message: t.string() }, closed), {
    maxItems: maxFailures,
    description: `First ${maxFailures} failures.`,
  }),
  created_at: batchInstant,
  ended_at: batchInstantOrNull,
});

export const previewSchema = titled('BatchActionPreview', {
  object: t.literal('batch_action.preview'),
  action: t.oneOf(actionKinds),
  matched: t.integer(),
  changes: t.integer({ description: 'Batches that would change, or be retried.' }),
  requests: t.integer({
    description: 'Their requests left, or the failed ones of a retry, whatever their code.',
  }),
  skipped: t.array(t.object({ reason: t.string(), count: t.integer() }, closed), {
    description: 'Matching batches that the action does not apply to.',
  }),
});
