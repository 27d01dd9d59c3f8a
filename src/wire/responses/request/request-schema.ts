import { Type } from '../../json-schema.ts';
import { chatLimits } from '../../chat/request/request-schema.ts';
import {
  anyObject,
  booleanOrNull,
  ifThen,
  integerOrNull,
  metadataSchema,
  nameRule,
  numberOrNull,
  oneOf,
  oneOfOrNull,
  raw,
  string,
  stringOrNull,
  when,
} from '../../schema.ts';
import { inputItemSchema } from './item-schema.ts';
import { isNested, toolSchema } from './tool-schema.ts';

/**
 * What `POST /v1/responses` takes (specification, section 4.5; wire-formats.md, section 1b). Strict about what is used,
 * tolerant of the rest: agents send fields and hosted tools by the dozen, and must not be locked out by them.
 */
const named = ifThen(
  isNested,
  { required: ['function'], properties: { function: Type.Object({ name: string({ minLength: 1 }) }) } },
  { required: ['name'], properties: { name: { type: 'string', minLength: 1 } } },
);

const toolChoice = raw({
  type: ['string', 'object', 'null'],
  expected: '"none", "auto", "required" or {"type":"function","name":...}',
  ...ifThen(
    { type: 'string' },
    { enum: ['none', 'auto', 'required'] },
    ifThen(
      { type: 'object' },
      {
        required: ['type'],
        properties: {
          type: oneOf(['function', 'custom', 'allowed_tools', 'local_shell', 'shell', 'apply_patch']),
          namespace: stringOrNull(),
        },
        allOf: [
          when('type', ['function', 'custom'], named),
          when('type', 'allowed_tools', {
            required: ['mode', 'tools'],
            properties: {
              mode: oneOf(['auto', 'required']),
              tools: {
                type: 'array',
                maxItems: chatLimits.tools,
                items: { type: 'object', required: ['type'], properties: { type: { type: 'string' } } },
              },
            },
          }),
        ],
      },
    ),
  ),
});

const format = raw({
  type: ['object', 'null'],
  required: ['type'],
  properties: { type: oneOf(['text', 'json_object', 'json_schema']) },
  ...when('type', 'json_schema', {
    required: ['name', 'schema'],
    properties: {
      name: string(nameRule),
      schema: anyObject({ description: 'The JSON Schema that the answer conforms to.' }),
      strict: booleanOrNull(),
      description: stringOrNull(),
    },
  }),
});

const refused = (expected: string) => raw({ type: 'null', expected, description: expected });

export const responsesRequestSchema = Type.Object(
  {
    model: string({ minLength: 1, maxLength: 256, description: 'A model id or alias.' }),
    input: raw({
      type: ['string', 'array'],
      expected: 'a string or an array of items',
      minItems: 1,
      maxItems: chatLimits.messages,
      items: inputItemSchema,
    }),
    instructions: Type.Optional(stringOrNull()),
    max_output_tokens: Type.Optional(integerOrNull({ minimum: 1, maximum: 2 ** 31 - 1 })),
    max_tool_calls: Type.Optional(integerOrNull({ minimum: 1, maximum: 2 ** 31 - 1 })),
    temperature: Type.Optional(numberOrNull({ minimum: 0, maximum: 2 })),
    top_p: Type.Optional(numberOrNull({ minimum: 0, maximum: 1 })),
    top_logprobs: Type.Optional(integerOrNull({ minimum: 0, maximum: chatLimits.topLogprobs })),
    stream: Type.Optional(booleanOrNull()),
    store: Type.Optional(booleanOrNull()),
    background: Type.Optional(booleanOrNull()),
    previous_response_id: Type.Optional(stringOrNull()),
    text: Type.Optional(
      raw({
        type: ['object', 'null'],
        properties: { format, verbosity: oneOfOrNull(['low', 'medium', 'high']) },
      }),
    ),
    tools: Type.Optional(raw({ type: ['array', 'null'], maxItems: chatLimits.tools, items: toolSchema })),
    tool_choice: Type.Optional(toolChoice),
    parallel_tool_calls: Type.Optional(booleanOrNull()),
    reasoning: Type.Optional(
      raw({ type: ['object', 'null'], properties: { effort: stringOrNull(), summary: stringOrNull() } }),
    ),
    include: Type.Optional(raw({ type: ['array', 'null'], items: { type: 'string' } })),
    metadata: Type.Optional(metadataSchema),
    safety_identifier: Type.Optional(stringOrNull()),
    prompt_cache_key: Type.Optional(stringOrNull()),
    service_tier: Type.Optional(stringOrNull()),
    conversation: Type.Optional(
      raw({
        type: ['string', 'object', 'null'],
        description: 'The id of a conversation, or an object with that id.',
        ...ifThen({ type: 'object' }, { required: ['id'], properties: { id: { type: 'string' } } }),
      }),
    ),
    prompt: Type.Optional(
      refused('no prompt: there are no stored prompts here; send instructions and input'),
    ),
  },
  { title: 'ResponsesRequest' },
);
