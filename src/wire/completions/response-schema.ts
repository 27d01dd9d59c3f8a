import { chatUsageSchema, stopReason } from '../chat/answer/response-schema.ts';
import { string, integer, array, object, oneOf, orNull, servedModel, unixTime } from '../schema/schema.ts';

const logprobs = orNull(
  object({
    tokens: array(string()),
    token_logprobs: array({ type: ['number', 'null'], description: 'Null for the first token of a prompt.' }),
    top_logprobs: array({ type: ['object', 'null'] }),
    text_offset: array(integer({ description: 'In characters (code points) of the text.' })),
  }),
);

export const completionsResponseSchema = object(
  {
    id: string({ pattern: '^cmpl_' }),
    object: oneOf(['text_completion']),
    created: unixTime,
    model: servedModel,
    choices: array(
      object({
        index: integer({ description: 'In the order of the prompts, n choices for each.' }),
        text: string(),
        logprobs,
        finish_reason: oneOf(['stop', 'length', 'content_filter']),
        'stop_reason?': stopReason,
      }),
    ),
    usage: chatUsageSchema,
  },
  { title: 'Completion' },
);
