import { words } from '../../../base/words.ts';
import { responseStatuses } from '../../../core/response.ts';
import * as t from '../../schema/schema.ts';
import { servedTier } from '../../shared/service-tier.ts';

const itemStatus = t.oneOf(['in_progress', 'completed', 'incomplete']);

const outputItem = t.object(
  {
    id: t.string(),
    type: t.oneOf([
      ...words('message function_call custom_tool_call local_shell_call shell_call apply_patch_call'),
      ...words('tool_search_call reasoning'),
    ]),
    status: itemStatus,
    'role?': t.oneOf(['assistant']),
    'phase?': t.oneOf(['commentary', 'final_answer']),
    'content?': t.array(
      t.object({
        type: t.oneOf(['output_text', 'refusal', 'reasoning_text']),
        'text?': t.string(),
        'annotations?': t.array({}),
        'logprobs?': t.array({}),
        'refusal?': t.string(),
      }),
    ),
    'call_id?': t.string(),
    'name?': t.string(),
    'namespace?': t.string(),
    'arguments?': { type: ['string', 'object'], description: 'JSON text; an object for a tool_search_call.' },
    'execution?': t.oneOf(['client']),
    'input?': t.string({ description: 'Input of a free-text tool.' }),
    'action?': { type: 'object', description: 'Action of a shell call.' },
    'operation?': { type: 'object', description: 'Operation of an apply_patch call.' },
    'summary?': t.array(t.object({ type: t.oneOf(['summary_text']), text: t.string() })),
  },
  { title: 'OutputItem' },
);

const usage = t.orNull(
  t.object({
    input_tokens: t.integer(),
    input_tokens_details: t.object({ cached_tokens: t.integer(), cache_write_tokens: t.integer() }),
    output_tokens: t.integer(),
    output_tokens_details: t.object({ reasoning_tokens: t.integer() }),
    total_tokens: t.integer(),
  }),
);

export const responseSchema = t.object(
  {
    id: t.string({ pattern: '^resp_', description: 'resp_<id>' }),
    object: t.oneOf(['response']),
    created_at: t.unixTime,
    completed_at: t.integerOrNull(),
    status: t.oneOf(responseStatuses),
    background: t.boolean(),
    error: t.orNull(t.object({ code: t.string(), message: t.string() })),
    incomplete_details: t.orNull(t.object({ reason: t.oneOf(['max_output_tokens', 'content_filter']) })),
    instructions: t.stringOrNull(),
    max_output_tokens: t.integerOrNull(),
    max_tool_calls: t.integerOrNull(),
    metadata: { type: 'object', additionalProperties: { type: 'string' } },
    model: t.servedModel,
    output: t.array(outputItem),
    parallel_tool_calls: t.boolean(),
    previous_response_id: t.stringOrNull(),
    'conversation?': t.object({ id: t.string() }),
    reasoning: t.object({ effort: t.stringOrNull(), summary: t.stringOrNull() }),
    safety_identifier: t.stringOrNull(),
    prompt_cache_key: t.stringOrNull(),
    service_tier: servedTier,
    store: t.boolean(),
    temperature: t.number(),
    top_p: t.number(),
    presence_penalty: t.number(),
    frequency_penalty: t.number(),
    top_logprobs: t.integer(),
    text: t.object({
      format: t.object({ type: t.oneOf(['text', 'json_object', 'json_schema']) }),
      verbosity: t.string(),
    }),
    tool_choice: { type: ['string', 'object'] },
    tools: t.array(
      t.object(
        {
          type: t.oneOf(['function', 'custom', 'namespace', 'local_shell', 'shell', 'apply_patch']),
          'name?': t.string(),
        },
        t.when('type', 'function', {
          name: {},
          description: t.stringOrNull(),
          parameters: t.orNull(t.anyObject()),
          strict: t.booleanOrNull(),
        }),
      ),
    ),
    truncation: t.oneOf(['disabled']),
    usage,
  },
  { title: 'Response' },
);

export const deletedResponseSchema = t.object(
  { id: t.string(), object: t.oneOf(['response']), deleted: t.literal(true) },
  { title: 'DeletedResponse' },
);

export const inputItemSchema = t.object({ id: t.string(), type: t.string() }, { title: 'InputItem' });

export const inputTokensSchema = t.object(
  { object: t.oneOf(['response.input_tokens']), input_tokens: t.integer() },
  { title: 'InputTokens' },
);

export const compactedSchema = t.object(
  {
    id: t.string({ pattern: '^resp_' }),
    object: t.oneOf(['response.compaction']),
    created_at: t.unixTime,
    output: t.array(inputItemSchema, { description: 'Input to continue from.' }),
    usage,
  },
  { title: 'CompactedResponse' },
);
