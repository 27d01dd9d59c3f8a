import { responseStatuses } from '../../../core/response.ts';
import { Type } from '../../json-schema.ts';
import { nullable, oneOf, raw, string, stringOrNull, when } from '../../schema.ts';

/** The bodies of `/v1/responses`, for the OpenAPI document. */
const itemStatus = oneOf(['in_progress', 'completed', 'incomplete']);

const outputItem = Type.Object(
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
    role: Type.Optional(oneOf(['assistant'])),
    content: Type.Optional(
      Type.Array(
        Type.Object({
          type: oneOf(['output_text', 'refusal', 'reasoning_text']),
          text: Type.Optional(string()),
          annotations: Type.Optional(Type.Array({})),
          logprobs: Type.Optional(Type.Array({})),
          refusal: Type.Optional(string()),
        }),
      ),
    ),
    call_id: Type.Optional(string()),
    name: Type.Optional(string()),
    namespace: Type.Optional(string()),
    arguments: Type.Optional(string({ description: 'JSON text' })),
    input: Type.Optional(string({ description: 'Of a tool that takes free text.' })),
    action: Type.Optional(raw({ type: 'object', description: 'Of a call of a shell.' })),
    operation: Type.Optional(raw({ type: 'object', description: 'Of a call of apply_patch.' })),
    summary: Type.Optional(Type.Array(Type.Object({ type: oneOf(['summary_text']), text: string() }))),
  },
  { title: 'OutputItem' },
);

const usage = raw({
  ...Type.Object({
    input_tokens: Type.Integer(),
    input_tokens_details: Type.Object({
      cached_tokens: Type.Integer(),
      cache_write_tokens: Type.Integer(),
    }),
    output_tokens: Type.Integer(),
    output_tokens_details: Type.Object({ reasoning_tokens: Type.Integer() }),
    total_tokens: Type.Integer(),
  }),
  type: ['object', 'null'],
});

const integerOrNull = { type: ['integer', 'null'] };

export const responseSchema = Type.Object(
  {
    id: string({ pattern: '^resp_', description: 'resp_<id>' }),
    object: oneOf(['response']),
    created_at: Type.Integer({ description: 'Unix time in seconds.' }),
    completed_at: integerOrNull,
    status: oneOf(responseStatuses),
    background: Type.Boolean(),
    error: raw({ ...Type.Object({ code: string(), message: string() }), type: ['object', 'null'] }),
    incomplete_details: raw({
      ...Type.Object({ reason: oneOf(['max_output_tokens', 'content_filter']) }),
      type: ['object', 'null'],
    }),
    instructions: stringOrNull(),
    max_output_tokens: integerOrNull,
    max_tool_calls: integerOrNull,
    metadata: raw({ type: 'object', additionalProperties: { type: 'string' } }),
    model: string({
      description: 'The model that served the request; it may differ from the alias asked for.',
    }),
    output: Type.Array(outputItem),
    parallel_tool_calls: Type.Boolean(),
    previous_response_id: stringOrNull(),
    conversation: Type.Optional(Type.Object({ id: string() })),
    reasoning: Type.Object({ effort: stringOrNull(), summary: stringOrNull() }),
    safety_identifier: stringOrNull(),
    prompt_cache_key: stringOrNull(),
    service_tier: oneOf(['default', 'flex', 'priority']),
    store: Type.Boolean(),
    temperature: Type.Number(),
    top_p: Type.Number(),
    presence_penalty: Type.Number(),
    frequency_penalty: Type.Number(),
    top_logprobs: Type.Integer(),
    text: Type.Object({
      format: Type.Object({ type: oneOf(['text', 'json_object', 'json_schema']) }),
      verbosity: string(),
    }),
    tool_choice: raw({ type: ['string', 'object'] }),
    tools: Type.Array(
      Type.Object(
        {
          type: oneOf(['function', 'custom', 'namespace', 'local_shell', 'shell', 'apply_patch']),
          name: Type.Optional(string()),
        },
        when('type', 'function', {
          required: ['name', 'description', 'parameters', 'strict'],
          properties: {
            description: stringOrNull(),
            parameters: nullable('object'),
            strict: { type: ['boolean', 'null'] },
          },
        }),
      ),
    ),
    truncation: oneOf(['disabled']),
    usage,
  },
  { title: 'Response' },
);

export const deletedResponseSchema = Type.Object(
  { id: string(), object: oneOf(['response']), deleted: Type.Literal(true) },
  { title: 'DeletedResponse' },
);

export const inputItemSchema = Type.Object({ id: string(), type: string() }, { title: 'InputItem' });

export const inputTokensSchema = Type.Object(
  { object: oneOf(['response.input_tokens']), input_tokens: Type.Integer() },
  { title: 'InputTokens' },
);

export const compactedSchema = Type.Object(
  {
    id: string({ pattern: '^resp_' }),
    object: oneOf(['response.compaction']),
    created_at: Type.Integer({ description: 'Unix time in seconds.' }),
    output: Type.Array(inputItemSchema, { description: 'The input to go on from.' }),
    usage,
  },
  { title: 'CompactedResponse' },
);
