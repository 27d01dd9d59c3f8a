import * as t from '../../schema/schema.ts';
import { servedTier } from '../../shared/service-tier.ts';

const calledFunction = { name: t.string(), arguments: t.string({ description: 'JSON text' }) };

const toolCall = t.object({
  id: t.string(),
  type: t.oneOf(['function', 'custom']),
  'function?': t.object(calledFunction),
  'custom?': t.object(
    { name: t.string(), input: t.string() },
    { description: 'Call of a tool with free-text input.' },
  ),
});

const assistantMessage = t.object({
  role: t.oneOf(['assistant']),
  content: t.stringOrNull(),
  refusal: t.stringOrNull(),
  'tool_calls?': t.array(toolCall),
  'function_call?': t.object(calledFunction, {
    description: 'Replaces tool_calls for a request with functions.',
  }),
  'reasoning?': t.string(),
  'reasoning_content?': t.string(),
  'reasoning_details?': t.array(t.anyObject(), { description: 'From OpenRouter and compatible servers.' }),
});

const tokenLogprob = { token: t.string(), logprob: t.number(), bytes: t.orNull(t.array(t.integer())) };

const logprobs = t.orNull(
  t.object({
    'content?': t.orNull(
      t.array(t.object({ ...tokenLogprob, top_logprobs: t.array(t.object(tokenLogprob)) })),
    ),
  }),
);

export const stopReason = t.string({
  description: 'Stop sequence that ended the choice, if the engine reports it.',
});

const tokens = {
  prompt_tokens: t.integer(),
  completion_tokens: t.integer(),
  prompt_tokens_details: t.object({ cached_tokens: t.integer(), 'cache_write_tokens?': t.integer() }),
};

export const chatUsageSchema = t.object({
  ...tokens,
  total_tokens: t.integer(),
  'completion_tokens_details?': t.object({
    reasoning_tokens: t.integer({ description: 'If the engine reports it.' }),
  }),
  'billed?': t.object(tokens, {
    description: 'Billed tokens, if an earlier attempt is billed as well.',
  }),
});

export const chatResponseSchema = t.object(
  {
    id: t.string({ pattern: '^chatcmpl_', description: 'chatcmpl_<id>' }),
    object: t.oneOf(['chat.completion']),
    created: t.unixTime,
    model: t.servedModel,
    choices: t.array(
      t.object({
        index: t.integer(),
        message: assistantMessage,
        logprobs,
        finish_reason: t.oneOf(['stop', 'length', 'tool_calls', 'content_filter', 'function_call']),
        'stop_reason?': stopReason,
      }),
    ),
    usage: chatUsageSchema,
    'service_tier?': servedTier,
  },
  { title: 'ChatCompletion' },
);
