import { type Schema, Type } from '../../json-schema.ts';
import { samplingFields, stopField } from '../../sampling-schema.ts';
import {
  anyObject,
  base64,
  booleanOrNull,
  ifThen,
  inputAudio,
  integerOrNull,
  nameRule,
  needs,
  oneOf,
  orNull,
  raw,
  string,
  stringOrNull,
  when,
} from '../../schema.ts';

/**
 * What a chat completion request may hold (wire-formats.md, section 1a). Strict about the fields that Offpeak uses,
 * tolerant of the others: clients send `store`, `user`, `prompt_cache_key` and more. What of it goes on to a server is
 * decided in one place (`engines/upstream/request/request-members.ts`).
 */

/** Lists whose length is bounded here and nowhere else. */
export const chatLimits = {
  messages: 10_000,
  tools: 512,
  stops: 4,
  choices: 16,
  topLogprobs: 20,
} as const;

const maxTokens = { minimum: 1, maximum: 2 ** 31 - 1 };
const roles = ['system', 'developer', 'user', 'assistant', 'tool', 'function'] as const;

const notStored = raw({ type: 'null', expected: 'no file_id: send the content itself as file_data' });

interface Field {
  type: string;
  [keyword: string]: unknown;
}

/** An object with a type and a field of that name. The other fields are null in what some clients send. */
function typed(fields: Record<string, Field>, more: Record<string, Schema> = {}): Schema {
  const types = Object.keys(fields);
  const optional = types.map((type) => [type, Type.Optional(orNull(fields[type]!))] as const);
  return Type.Object(
    { ...more, type: oneOf(types), ...Object.fromEntries(optional) },
    { allOf: types.map((type) => when('type', type, needs(type, fields[type]!.type))) },
  );
}

const part = typed({
  text: string(),
  refusal: string(),
  image_url: {
    type: 'object',
    required: ['url'],
    properties: {
      url: string({
        pattern: '^data:',
        expected: 'a data: URL, because images are never fetched for a caller',
      }),
      detail: stringOrNull(),
    },
  },
  input_audio: inputAudio,
  file: { type: 'object', properties: { file_data: orNull(base64), file_id: notStored } },
});

const functionCall = {
  name: string({ minLength: 1 }),
  arguments: string({ description: 'JSON text' }),
};

const toolCall = typed(
  {
    function: { type: 'object', required: ['name', 'arguments'], properties: functionCall },
    custom: {
      type: 'object',
      required: ['name', 'input'],
      properties: { name: string({ minLength: 1 }), input: string() },
    },
  },
  { id: string({ minLength: 1 }) },
);

const textContent = { type: ['string', 'array'], expected: 'a string or an array of parts', minItems: 1 };
const textParts = { items: { properties: { type: { enum: ['text'] } } } };

const message = Type.Object(
  {
    role: oneOf(roles),
    content: Type.Optional(
      raw({
        type: ['string', 'array', 'null'],
        items: part,
        expected: 'a string or an array of parts',
      }),
    ),
    name: Type.Optional(stringOrNull()),
    tool_calls: Type.Optional(raw({ type: ['array', 'null'], items: toolCall })),
    function_call: Type.Optional(
      raw({ type: ['object', 'null'], required: ['name', 'arguments'], properties: functionCall }),
    ),
    tool_call_id: Type.Optional(stringOrNull()),
    refusal: Type.Optional(stringOrNull()),
    reasoning: Type.Optional(stringOrNull()),
    reasoning_content: Type.Optional(stringOrNull()),
  },
  {
    allOf: [
      when('role', ['system', 'developer', 'user', 'tool'], {
        required: ['content'],
        properties: { content: textContent },
      }),
      when('role', ['system', 'developer', 'tool'], { properties: { content: textParts } }),
      when('role', 'tool', {
        required: ['tool_call_id'],
        properties: { tool_call_id: { type: 'string', minLength: 1 } },
      }),
      when('role', 'function', {
        required: ['name', 'content'],
        properties: {
          name: { type: 'string', minLength: 1 },
          content: { type: ['string', 'array', 'null'], ...textParts },
        },
      }),
    ],
  },
);

const jsonSchemaFormat = {
  type: 'object',
  required: ['name', 'schema'],
  properties: {
    name: string(nameRule),
    description: stringOrNull(),
    strict: booleanOrNull(),
    schema: anyObject({ description: 'The JSON Schema that the answer conforms to.' }),
  },
};

const responseFormat = raw({
  type: ['object', 'null'],
  required: ['type'],
  properties: { type: oneOf(['text', 'json_object', 'json_schema']), json_schema: orNull(jsonSchemaFormat) },
  ...when('type', 'json_schema', needs('json_schema', 'object')),
});

const definition = {
  name: string(nameRule),
  description: Type.Optional(stringOrNull()),
  parameters: Type.Optional(raw({ type: ['object', 'null'], description: 'JSON Schema of the arguments.' })),
};

const custom = Type.Object({
  name: string(nameRule),
  description: Type.Optional(stringOrNull()),
  format: Type.Optional(
    raw({
      type: ['object', 'null'],
      required: ['type'],
      properties: { type: oneOf(['text', 'grammar']) },
      ...when('type', 'grammar', {
        required: ['grammar'],
        properties: {
          grammar: Type.Object({
            syntax: oneOf(['lark', 'regex']),
            definition: string({ minLength: 1 }),
          }),
        },
      }),
    }),
  ),
});

/** Tools of other types than `function` and `custom` are passed over, whatever they hold. */
const tool = Type.Object(
  { type: string({ minLength: 1 }) },
  {
    allOf: [
      when('type', 'function', {
        required: ['function'],
        properties: {
          function: Type.Object({ ...definition, strict: Type.Optional(booleanOrNull()) }),
        },
      }),
      when('type', 'custom', { required: ['custom'], properties: { custom } }),
    ],
  },
);

const named = Type.Object({ name: string({ minLength: 1 }) });
const chosen = [
  when('type', 'function', { required: ['function'], properties: { function: named } }),
  when('type', 'custom', { required: ['custom'], properties: { custom: named } }),
];

const objectChoice = {
  required: ['type'],
  properties: { type: oneOf(['function', 'custom', 'allowed_tools']) },
  allOf: [
    ...chosen,
    when('type', 'allowed_tools', {
      required: ['allowed_tools'],
      properties: {
        allowed_tools: Type.Object({
          mode: oneOf(['auto', 'required']),
          tools: Type.Array(Type.Object({ type: string() }, { allOf: chosen }), {
            minItems: 1,
            maxItems: chatLimits.tools,
          }),
        }),
      },
    }),
  ],
};

const toolChoice = raw({
  type: ['string', 'object', 'null'],
  expected: '"none", "auto", "required" or {"type":"function","function":{"name":...}}',
  ...ifThen(
    { type: 'string' },
    { enum: ['none', 'auto', 'required'] },
    ifThen({ type: 'object' }, objectChoice),
  ),
});

const functionChoice = raw({
  type: ['string', 'object', 'null'],
  expected: '"none", "auto" or {"name":...}',
  description: 'The older form of tool_choice, for functions.',
  ...ifThen({ type: 'string' }, { enum: ['none', 'auto'] }, ifThen({ type: 'object' }, named)),
});

export const chatRequestSchema = Type.Object(
  {
    model: string({ minLength: 1, maxLength: 256, description: 'A model id or alias.' }),
    messages: Type.Array(message, { minItems: 1, maxItems: chatLimits.messages }),
    ...samplingFields,
    max_tokens: Type.Optional(integerOrNull(maxTokens)),
    max_completion_tokens: Type.Optional(integerOrNull(maxTokens)),
    n: Type.Optional(integerOrNull({ minimum: 1, maximum: chatLimits.choices })),
    stop: stopField(chatLimits.stops),
    logprobs: Type.Optional(booleanOrNull()),
    top_logprobs: Type.Optional(integerOrNull({ minimum: 0, maximum: chatLimits.topLogprobs })),
    response_format: Type.Optional(responseFormat),
    tools: Type.Optional(raw({ type: ['array', 'null'], maxItems: chatLimits.tools, items: tool })),
    tool_choice: Type.Optional(toolChoice),
    parallel_tool_calls: Type.Optional(booleanOrNull()),
    reasoning_effort: Type.Optional(stringOrNull()),
    thinking_budget_tokens: Type.Optional(integerOrNull({ minimum: -1, maximum: 2 ** 31 - 1 })),
    modalities: Type.Optional(
      raw({
        type: ['array', 'null'],
        items: string({ pattern: '^text$', expected: '"text", because answers are text here' }),
      }),
    ),
    functions: Type.Optional(
      raw({
        type: ['array', 'null'],
        description: 'The older form of tools. Calls then come back as function_call.',
        maxItems: chatLimits.tools,
        items: Type.Object(definition),
      }),
    ),
    function_call: Type.Optional(functionChoice),
  },
  { title: 'ChatCompletionRequest' },
);
