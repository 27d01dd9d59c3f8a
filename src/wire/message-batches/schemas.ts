import { string, stringOrNull, oneOf, integer, boolean, array, object, literal } from '../schema/schema.ts';
import { messagesRequestSchema } from '../messages/request/request-schema.ts';
import { messageSchema } from '../messages/answer/response-schema.ts';

const closed = { additionalProperties: false };

/** The body around its requests, which are checked as lines. */
export const frameSchema = object({ requests: { type: 'array' } }, closed);

export const createMessageBatchSchema = object(
  {
    requests: array(
      object(
        {
          custom_id: string({ minLength: 1, maxLength: 512, description: 'Unique in the batch.' }),
          params: messagesRequestSchema,
        },
        closed,
      ),
      { minItems: 1 },
    ),
  },
  { ...closed, title: 'CreateMessageBatch' },
);

const instant = { format: 'date-time' };
const instantOrNull = stringOrNull(instant);

export const messageBatchSchema = object(
  {
    id: string({ pattern: '^batch_' }),
    type: literal('message_batch'),
    processing_status: oneOf(['in_progress', 'canceling', 'ended']),
    request_counts: object(
      {
        processing: integer(),
        succeeded: integer(),
        errored: integer(),
        canceled: integer(),
        expired: integer(),
      },
      closed,
    ),
    created_at: string(instant),
    expires_at: string(instant),
    ended_at: instantOrNull,
    cancel_initiated_at: instantOrNull,
    archived_at: { type: 'null' },
    results_url: stringOrNull({
      description: 'Relative to the base URL of the client, or a full URL; null until the batch has ended.',
    }),
  },
  { ...closed, title: 'MessageBatch' },
);

export const messageBatchListSchema = object(
  {
    data: array(messageBatchSchema),
    has_more: boolean(),
    first_id: stringOrNull(),
    last_id: stringOrNull(),
  },
  closed,
);

export const deletedMessageBatchSchema = object(
  { id: string(), type: literal('message_batch_deleted') },
  closed,
);

const errorOfRequest = object(
  {
    type: literal('error'),
    error: object({ type: string(), message: string(), code: string() }, closed),
    request_id: string(),
  },
  closed,
);

export const messageBatchResultSchema = object(
  {
    custom_id: stringOrNull(),
    result: object({
      type: oneOf(['succeeded', 'errored', 'canceled', 'expired']),
      'message?': messageSchema,
      'error?': errorOfRequest,
    }),
  },
  { title: 'MessageBatchResult' },
);
