import { Type } from '../../json-schema.ts';
import { oneOf, raw, string, stringOrNull } from '../../schema.ts';

/** The chat completion response (specification, section 2.5), for the OpenAPI document. */
const calledFunction = { name: string(), arguments: string({ description: 'JSON text' }) };

const toolCall = Type.Object({
  id: string(),
  type: oneOf(['function', 'custom']),
  function: Type.Optional(Type.Object(calledFunction)),
  custom: Type.Optional(
    Type.Object({ name: string(), input: string() }, { description: 'Of a tool that takes free text.' }),
  ),
});

const assistantMessage = Type.Object({
  role: oneOf(['assistant']),
  content: stringOrNull(),
  refusal: stringOrNull(),
  tool_calls: Type.Optional(Type.Array(toolCall)),
  function_call: Type.Optional(
    Type.Object(calledFunction, { description: 'In place of tool_calls for a request with functions.' }),
  ),
  reasoning: Type.Optional(string()),
  reasoning_content: Type.Optional(string()),
});

const tokenLogprob = {
  token: string(),
  logprob: Type.Number(),
  bytes: raw({ type: ['array', 'null'], items: { type: 'integer' } }),
};

const logprobs = raw({
  type: ['object', 'null'],
  properties: {
    content: {
      type: ['array', 'null'],
      items: Type.Object({ ...tokenLogprob, top_logprobs: Type.Array(Type.Object(tokenLogprob)) }),
    },
  },
});

const tokens = {
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  prompt_tokens_details: Type.Object({ cached_tokens: Type.Integer() }),
};

export const chatUsageSchema = Type.Object({
  ...tokens,
  total_tokens: Type.Integer(),
  completion_tokens_details: Type.Optional(
    Type.Object({ reasoning_tokens: Type.Integer({ description: 'Where the engine tells.' }) }),
  ),
  billed: Type.Optional(
    Type.Object(tokens, { description: 'What is paid, where another answer was made before this one.' }),
  ),
});

export const chatResponseSchema = Type.Object(
  {
    id: string({ pattern: '^chatcmpl_', description: 'chatcmpl_<id>' }),
    object: oneOf(['chat.completion']),
    created: Type.Integer({ description: 'Unix time in seconds.' }),
    model: string({
      description: 'The model that served the request; it may differ from the alias asked for.',
    }),
    choices: Type.Array(
      Type.Object({
        index: Type.Integer(),
        message: assistantMessage,
        logprobs,
        finish_reason: oneOf(['stop', 'length', 'tool_calls', 'content_filter', 'function_call']),
        stop_reason: Type.Optional(
          string({ description: 'The stop sequence that ended it, where the engine tells.' }),
        ),
      }),
    ),
    usage: chatUsageSchema,
  },
  { title: 'ChatCompletion' },
);
