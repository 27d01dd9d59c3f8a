import { chatUsageSchema } from '../chat/answer/response-schema.ts';
import { Type } from '../json-schema.ts';
import { oneOf, raw, string } from '../schema.ts';

const logprobs = raw({
  type: ['object', 'null'],
  required: ['tokens', 'token_logprobs', 'top_logprobs', 'text_offset'],
  properties: {
    tokens: Type.Array(string()),
    token_logprobs: {
      type: 'array',
      items: { type: ['number', 'null'], description: 'Null for the first token of a prompt.' },
    },
    top_logprobs: { type: 'array', items: { type: ['object', 'null'] } },
    text_offset: Type.Array(Type.Integer({ description: 'In characters of the text.' })),
  },
});

export const completionsResponseSchema = Type.Object(
  {
    id: string({ pattern: '^cmpl_' }),
    object: oneOf(['text_completion']),
    created: Type.Integer({ description: 'Unix time in seconds.' }),
    model: string({
      description: 'The model that served the request; it may differ from the alias asked for.',
    }),
    choices: Type.Array(
      Type.Object({
        index: Type.Integer({ description: 'Prompts in their order, n choices of each.' }),
        text: string(),
        logprobs,
        finish_reason: oneOf(['stop', 'length', 'content_filter']),
        stop_reason: Type.Optional(
          string({ description: 'The stop sequence that ended it, where the engine tells.' }),
        ),
      }),
    ),
    usage: chatUsageSchema,
  },
  { title: 'Completion' },
);
