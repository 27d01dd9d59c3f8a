import {
  string,
  integer,
  number,
  array,
  object,
  oneOf,
  orNull,
  servedModel,
  unixTime,
  stringOrNull,
} from '../../schema.ts';

/** The chat completion response (specification, section 2.5), for the OpenAPI document. */
const calledFunction = { name: string(), arguments: string({ description: 'JSON text' }) };

const toolCall = object({
  id: string(),
  type: oneOf(['function', 'custom']),
  'function?': object(calledFunction),
  'custom?': object({ name: string(), input: string() }, { description: 'Of a tool that takes free text.' }),
});

const assistantMessage = object({
  role: oneOf(['assistant']),
  content: stringOrNull(),
  refusal: stringOrNull(),
  'tool_calls?': array(toolCall),
  'function_call?': object(calledFunction, {
    description: 'In place of tool_calls for a request with functions.',
  }),
  'reasoning?': string(),
  'reasoning_content?': string(),
});

const tokenLogprob = {
  token: string(),
  logprob: number(),
  bytes: orNull(array(integer())),
};

const logprobs = orNull(
  object({
    'content?': orNull(array(object({ ...tokenLogprob, top_logprobs: array(object(tokenLogprob)) }))),
  }),
);

export const stopReason = string({ description: 'The stop sequence that ended it, where the engine tells.' });

const tokens = {
  prompt_tokens: integer(),
  completion_tokens: integer(),
  prompt_tokens_details: object({ cached_tokens: integer() }),
};

export const chatUsageSchema = object({
  ...tokens,
  total_tokens: integer(),
  'completion_tokens_details?': object({
    reasoning_tokens: integer({ description: 'Where the engine tells.' }),
  }),
  'billed?': object(tokens, { description: 'What is paid, where another answer was made before this one.' }),
});

export const chatResponseSchema = object(
  {
    id: string({ pattern: '^chatcmpl_', description: 'chatcmpl_<id>' }),
    object: oneOf(['chat.completion']),
    created: unixTime,
    model: servedModel,
    choices: array(
      object({
        index: integer(),
        message: assistantMessage,
        logprobs,
        finish_reason: oneOf(['stop', 'length', 'tool_calls', 'content_filter', 'function_call']),
        'stop_reason?': stopReason,
      }),
    ),
    usage: chatUsageSchema,
  },
  { title: 'ChatCompletion' },
);
