import { Type } from '../json-schema.ts';
import { messagesRequestSchema } from '../messages/request/request-schema.ts';
import { messageSchema } from '../messages/answer/response-schema.ts';
import { raw, string } from '../schema.ts';

const closed = { additionalProperties: false };

/** What is checked of the body around its requests. */
export const frameSchema = Type.Object({ requests: raw({ type: 'array' }) }, closed);

export const createMessageBatchSchema = Type.Object(
  {
    requests: Type.Array(
      Type.Object(
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
const instantOrNull = { type: ['string', 'null'], ...instant };

export const messageBatchSchema = Type.Object(
  {
    id: Type.String({ pattern: '^batch_' }),
    type: Type.Literal('message_batch'),
    processing_status: { type: 'string', enum: ['in_progress', 'canceling', 'ended'] },
    request_counts: Type.Object(
      {
        processing: Type.Integer(),
        succeeded: Type.Integer(),
        errored: Type.Integer(),
        canceled: Type.Integer(),
        expired: Type.Integer(),
      },
      closed,
    ),
    created_at: Type.String(instant),
    expires_at: Type.String(instant),
    ended_at: instantOrNull,
    cancel_initiated_at: instantOrNull,
    archived_at: { type: 'null' },
    results_url: {
      type: ['string', 'null'],
      description: 'Relative to the base URL of the client; null until the batch has ended.',
    },
  },
  { ...closed, title: 'MessageBatch' },
);

export const messageBatchListSchema = Type.Object(
  {
    data: Type.Array(messageBatchSchema),
    has_more: Type.Boolean(),
    first_id: { type: ['string', 'null'] },
    last_id: { type: ['string', 'null'] },
  },
  closed,
);

export const deletedMessageBatchSchema = Type.Object(
  { id: Type.String(), type: Type.Literal('message_batch_deleted') },
  closed,
);

/** Of `errored`. */
const errorOfRequest = Type.Object(
  {
    type: Type.Literal('error'),
    error: Type.Object({ type: Type.String(), message: Type.String(), code: Type.String() }, closed),
    request_id: Type.String(),
  },
  closed,
);

/** One line of the results. */
export const messageBatchResultSchema = Type.Object(
  {
    custom_id: { type: ['string', 'null'] },
    result: Type.Object({
      type: { type: 'string', enum: ['succeeded', 'errored', 'canceled', 'expired'] },
      message: Type.Optional(messageSchema),
      error: Type.Optional(errorOfRequest),
    }),
  },
  { title: 'MessageBatchResult' },
);
