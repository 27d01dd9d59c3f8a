import { responseStatuses } from '../../../core/response.ts';
import {
  string,
  integer,
  number,
  boolean,
  array,
  object,
  literal,
  anyObject,
  booleanOrNull,
  orNull,
  servedModel,
  unixTime,
  oneOf,
  integerOrNull,
  stringOrNull,
  when,
} from '../../schema.ts';

/** The bodies of `/v1/responses`, for the OpenAPI document. */
const itemStatus = oneOf(['in_progress', 'completed', 'incomplete']);

const outputItem = object(
  {
    id: string(),
    type: oneOf([
      'message',
      'function_call',
      'custom_tool_call',
      'local_shell_call',
      'shell_call',
      'apply_patch_call',
      'reasoning',
    ]),
    status: itemStatus,
    'role?': oneOf(['assistant']),
    'content?': array(
      object({
        type: oneOf(['output_text', 'refusal', 'reasoning_text']),
        'text?': string(),
        'annotations?': array({}),
        'logprobs?': array({}),
        'refusal?': string(),
      }),
    ),
    'call_id?': string(),
    'name?': string(),
    'namespace?': string(),
    'arguments?': string({ description: 'JSON text' }),
    'input?': string({ description: 'Of a tool that takes free text.' }),
    'action?': { type: 'object', description: 'Of a call of a shell.' },
    'operation?': { type: 'object', description: 'Of a call of apply_patch.' },
    'summary?': array(object({ type: oneOf(['summary_text']), text: string() })),
  },
  { title: 'OutputItem' },
);

const usage = orNull(
  object({
    input_tokens: integer(),
    input_tokens_details: object({ cached_tokens: integer(), cache_write_tokens: integer() }),
    output_tokens: integer(),
    output_tokens_details: object({ reasoning_tokens: integer() }),
    total_tokens: integer(),
  }),
);

export const responseSchema = object(
  {
    id: string({ pattern: '^resp_', description: 'resp_<id>' }),
    object: oneOf(['response']),
    created_at: unixTime,
    completed_at: integerOrNull(),
    status: oneOf(responseStatuses),
    background: boolean(),
    error: orNull(object({ code: string(), message: string() })),
    incomplete_details: orNull(object({ reason: oneOf(['max_output_tokens', 'content_filter']) })),
    instructions: stringOrNull(),
    max_output_tokens: integerOrNull(),
    max_tool_calls: integerOrNull(),
    metadata: { type: 'object', additionalProperties: { type: 'string' } },
    model: servedModel,
    output: array(outputItem),
    parallel_tool_calls: boolean(),
    previous_response_id: stringOrNull(),
    'conversation?': object({ id: string() }),
    reasoning: object({ effort: stringOrNull(), summary: stringOrNull() }),
    safety_identifier: stringOrNull(),
    prompt_cache_key: stringOrNull(),
    service_tier: oneOf(['default', 'flex', 'priority']),
    store: boolean(),
    temperature: number(),
    top_p: number(),
    presence_penalty: number(),
    frequency_penalty: number(),
    top_logprobs: integer(),
    text: object({
      format: object({ type: oneOf(['text', 'json_object', 'json_schema']) }),
      verbosity: string(),
    }),
    tool_choice: { type: ['string', 'object'] },
    tools: array(
      object(
        {
          type: oneOf(['function', 'custom', 'namespace', 'local_shell', 'shell', 'apply_patch']),
          'name?': string(),
        },
        when('type', 'function', {
          name: {},
          description: stringOrNull(),
          parameters: orNull(anyObject()),
          strict: booleanOrNull(),
        }),
      ),
    ),
    truncation: oneOf(['disabled']),
    usage,
  },
  { title: 'Response' },
);

export const deletedResponseSchema = object(
  { id: string(), object: oneOf(['response']), deleted: literal(true) },
  { title: 'DeletedResponse' },
);

export const inputItemSchema = object({ id: string(), type: string() }, { title: 'InputItem' });

export const inputTokensSchema = object(
  { object: oneOf(['response.input_tokens']), input_tokens: integer() },
  { title: 'InputTokens' },
);

export const compactedSchema = object(
  {
    id: string({ pattern: '^resp_' }),
    object: oneOf(['response.compaction']),
    created_at: unixTime,
    output: array(inputItemSchema, { description: 'The input to go on from.' }),
    usage,
  },
  { title: 'CompactedResponse' },
);
