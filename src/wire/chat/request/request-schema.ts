import { samplingFields, stopField } from '../../sampling-schema.ts';
import {
  anyObject,
  array,
  askedModel,
  base64,
  booleanOrNull,
  definedName,
  type Fields,
  fields,
  imageUrl,
  inputAudio,
  integerOrNull,
  object,
  oneOf,
  orNull,
  type Schema,
  string,
  stringOrNull,
  tokenLimit,
  when,
  wordOr,
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

const roles = ['system', 'developer', 'user', 'assistant', 'tool', 'function'] as const;

const notStored = { type: 'null', expected: 'no file_id: send the content itself as file_data' };
const filled = string({ minLength: 1 });

interface Field {
  type: string;
  [keyword: string]: unknown;
}

/** An object with a type and a field of that name. The other fields are null in what some clients send. */
function typed(given: Record<string, Field>, more: Fields = {}): Schema {
  const types = Object.keys(given);
  const optional = types.map((type) => [`${type}?`, orNull(given[type]!)] as const);
  return object(
    { ...more, type: oneOf(types), ...Object.fromEntries(optional) },
    { allOf: types.map((type) => when('type', type, { [type]: { type: given[type]!.type } })) },
  );
}

const part = typed({
  text: string(),
  refusal: string(),
  image_url: object({ url: imageUrl, 'detail?': stringOrNull() }),
  input_audio: inputAudio,
  file: object({ 'file_data?': orNull(base64), 'file_id?': notStored }),
});

const functionCall = object({ name: filled, arguments: string({ description: 'JSON text' }) });

const toolCall = typed(
  { function: functionCall, custom: object({ name: filled, input: string() }) },
  { id: filled },
);

const content = { type: ['string', 'array', 'null'], items: part, expected: 'a string or an array of parts' };
const textContent = { type: ['string', 'array'], expected: content.expected, minItems: 1 };
const textParts = { items: { properties: { type: { enum: ['text'] } } } };

const message = object(
  {
    role: oneOf(roles),
    'content?': content,
    'name?': stringOrNull(),
    'tool_calls?': orNull(array(toolCall)),
    'function_call?': orNull(functionCall),
    'tool_call_id?': stringOrNull(),
    'refusal?': stringOrNull(),
    'reasoning?': stringOrNull(),
    'reasoning_content?': stringOrNull(),
  },
  {
    allOf: [
      when('role', ['system', 'developer', 'user', 'tool'], { content: textContent }),
      when('role', ['system', 'developer', 'tool'], { 'content?': textParts }),
      when('role', 'tool', { tool_call_id: filled }),
      when('role', 'function', {
        name: filled,
        content: { type: ['string', 'array', 'null'], ...textParts },
      }),
    ],
  },
);

/** Of an answer that keeps to a JSON Schema. */
export const jsonSchemaFields = {
  name: definedName,
  'description?': stringOrNull(),
  'strict?': booleanOrNull(),
  schema: anyObject({ description: 'The JSON Schema that the answer conforms to.' }),
};

const responseFormat = orNull(
  object(
    { type: oneOf(['text', 'json_object', 'json_schema']), 'json_schema?': orNull(object(jsonSchemaFields)) },
    when('type', 'json_schema', { json_schema: { type: 'object' } }),
  ),
);

const definition = {
  name: definedName,
  'description?': stringOrNull(),
  'parameters?': orNull(anyObject({ description: 'JSON Schema of the arguments.' })),
};
export const functionFields = { ...definition, 'strict?': booleanOrNull() };

const grammar = object({ syntax: oneOf(['lark', 'regex']), definition: filled });

const custom = object({
  name: definedName,
  'description?': stringOrNull(),
  'format?': orNull(object({ type: oneOf(['text', 'grammar']) }, when('type', 'grammar', { grammar }))),
});

/** Tools of other types than `function` and `custom` are passed over, whatever they hold. */
const tool = object(
  { type: filled },
  {
    allOf: [
      when('type', 'function', { function: object(functionFields) }),
      when('type', 'custom', { custom }),
    ],
  },
);

const named = object({ name: filled });
const chosen = [when('type', 'function', { function: named }), when('type', 'custom', { custom: named })];

const allowedTools = object({
  mode: oneOf(['auto', 'required']),
  tools: array(object({ type: string() }, { allOf: chosen }), { minItems: 1, maxItems: chatLimits.tools }),
});

const objectChoice = {
  ...fields({ type: oneOf(['function', 'custom', 'allowed_tools']) }),
  allOf: [...chosen, when('type', 'allowed_tools', { allowed_tools: allowedTools })],
};

const toolChoice = {
  type: ['string', 'object', 'null'],
  expected: '"none", "auto", "required" or {"type":"function","function":{"name":...}}',
  ...wordOr(['none', 'auto', 'required'], objectChoice),
};

const functionChoice = {
  type: ['string', 'object', 'null'],
  expected: '"none", "auto" or {"name":...}',
  description: 'The older form of tool_choice, for functions.',
  ...wordOr(['none', 'auto'], named),
};

export const chatRequestSchema = object(
  {
    model: askedModel,
    messages: array(message, { minItems: 1, maxItems: chatLimits.messages }),
    ...samplingFields,
    'max_tokens?': integerOrNull(tokenLimit),
    'max_completion_tokens?': integerOrNull(tokenLimit),
    'n?': integerOrNull({ minimum: 1, maximum: chatLimits.choices }),
    'stop?': stopField(chatLimits.stops),
    'logprobs?': booleanOrNull(),
    'top_logprobs?': integerOrNull({ minimum: 0, maximum: chatLimits.topLogprobs }),
    'response_format?': responseFormat,
    'tools?': orNull(array(tool, { maxItems: chatLimits.tools })),
    'tool_choice?': toolChoice,
    'parallel_tool_calls?': booleanOrNull(),
    'reasoning_effort?': stringOrNull(),
    'thinking_budget_tokens?': integerOrNull({ ...tokenLimit, minimum: -1 }),
    'modalities?': orNull(
      array(string({ pattern: '^text$', expected: '"text", because answers are text here' })),
    ),
    'functions?': orNull(
      array(object(definition), {
        description: 'The older form of tools. Calls then come back as function_call.',
        maxItems: chatLimits.tools,
      }),
    ),
    'function_call?': functionChoice,
  },
  { title: 'ChatCompletionRequest' },
);
