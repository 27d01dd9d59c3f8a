import { samplingFields, stopField } from '../../schema/sampling-schema.ts';
import { chatEngineFields, engineFields } from '../../schema/engine-fields.ts';
import * as t from '../../schema/schema.ts';
import { serviceTierField } from '../../shared/service-tier.ts';

// The schema is strict about the fields that Offpeak uses, knows others, such as `store`, `user` and `prompt_cache_key`, and leads to a
// warning about the rest. `engines/upstream/request/request-members.ts` decides which fields are forwarded.

export const chatLimits = { messages: 10_000, tools: 512, stops: 4, choices: 16, topLogprobs: 20 } as const;

const roles = ['system', 'developer', 'user', 'assistant', 'tool', 'function'] as const;

const notStored = { type: 'null', expected: 'no file_id: send the content itself as file_data' };
const filled = t.string({ minLength: 1 });

/** Object with a type and a field of that name. Some clients send the other fields as null. */
function typed(given: Record<string, { type: string }>, more: t.Fields, others: string): t.Schema {
  const types = Object.keys(given);
  const optional = types.map((type) => [`${type}?`, t.orNull(given[type]!)] as const);
  return t.object(
    { ...more, type: t.oneOf(types), ...Object.fromEntries(optional) },
    {
      allOf: types.map((type) => t.when('type', type, { [type]: { type: given[type]!.type } })),
      ...t.known(others),
    },
  );
}

const part = typed(
  {
    text: t.string(),
    refusal: t.string(),
    image_url: t.object(
      { url: t.imageUrl, 'detail?': t.stringOrNull() },
      t.known('format uuid max_dynamic_patch min_dynamic_patch content_hash'),
    ),
    input_audio: t.inputAudio,
    file: t.object({ 'file_data?': t.orNull(t.base64), 'file_id?': notStored }, t.known('filename format')),
  },
  {},
  'annotations cache_control modalities prompt_cache_breakpoint uuid',
);

const functionCall = t.object(
  { name: filled, arguments: t.string({ description: 'JSON text' }) },
  t.known('parsed_arguments'),
);

const toolCall = typed(
  { function: functionCall, custom: t.object({ name: filled, input: t.string() }) },
  { id: filled },
  'index extra_content cache_control provider_specific_fields thought_signature',
);

const content = { type: ['string', 'array', 'null'], items: part, expected: 'a string or an array of parts' };
const textContent = { type: ['string', 'array'], expected: content.expected, minItems: 1 };
const textParts = { items: { properties: { type: { enum: ['text'] } } } };

const message = t.object(
  {
    role: t.oneOf(roles),
    'content?': content,
    'name?': t.stringOrNull(),
    'tool_calls?': t.orNull(t.array(toolCall)),
    'function_call?': t.orNull(functionCall),
    'tool_call_id?': t.stringOrNull(),
    'refusal?': t.stringOrNull(),
    'reasoning?': t.stringOrNull(),
    'reasoning_content?': t.stringOrNull(),
    'reasoning_details?': t.orNull(t.array(t.anyObject())),
  },
  {
    allOf: [
      t.when('role', ['system', 'developer', 'user', 'tool'], { content: textContent }),
      t.when('role', ['system', 'developer', 'tool'], { 'content?': textParts }),
      t.when('role', 'tool', { tool_call_id: filled }),
      t.when('role', 'function', {
        name: filled,
        content: { type: ['string', 'array', 'null'], ...textParts },
      }),
    ],
    ...t.known(
      `annotations audio cache_control citations executed_tools extra_content images parsed partial prefix provider_specific_fields
      thinking_blocks tool_name tools`,
    ),
  },
);

export const jsonSchemaFields = {
  name: t.definedName,
  'description?': t.stringOrNull(),
  'strict?': t.booleanOrNull(),
  schema: t.anyObject({ description: 'The JSON Schema that the answer conforms to.' }),
};

const responseFormat = t.orNull(
  t.object(
    {
      type: t.oneOf(['text', 'json_object', 'json_schema']),
      'json_schema?': t.orNull(t.object(jsonSchemaFields)),
    },
    { ...t.when('type', 'json_schema', { json_schema: { type: 'object' } }), ...t.known('schema') },
  ),
);

const definition = {
  name: t.toolName,
  'description?': t.stringOrNull(),
  'parameters?': t.orNull(t.anyObject({ description: 'JSON Schema of the arguments.' })),
};
export const functionFields = { ...definition, 'strict?': t.booleanOrNull() };

const grammar = t.object({ syntax: t.oneOf(['lark', 'regex']), definition: filled });

const custom = t.object({
  name: t.toolName,
  'description?': t.stringOrNull(),
  'format?': t.orNull(
    t.object({ type: t.oneOf(['text', 'grammar']) }, t.when('type', 'grammar', { grammar })),
  ),
});

/** Tools of types other than `function` and `custom` are ignored. */
const tool = t.object(
  { type: filled },
  {
    ...t.known('cache_control defer_loading allowed_callers strict'),
    allOf: [
      t.when('type', 'function', {
        function: t.object(functionFields, t.known('cache_control defer_loading output_schema')),
      }),
      t.when('type', 'custom', { custom }),
    ],
  },
);

const named = t.object({ name: filled });
const chosen = [t.when('type', 'function', { function: named }), t.when('type', 'custom', { custom: named })];

const allowedTools = t.object({
  mode: t.oneOf(['auto', 'required']),
  tools: t.array(t.object({ type: t.string() }, { allOf: chosen }), {
    minItems: 1,
    maxItems: chatLimits.tools,
  }),
});

const objectChoice = {
  ...t.fields({ type: t.oneOf(['function', 'custom', 'allowed_tools']) }),
  allOf: [...chosen, t.when('type', 'allowed_tools', { allowed_tools: allowedTools })],
};

const toolChoice = {
  type: ['string', 'object', 'null'],
  expected: '"none", "auto", "required" or {"type":"function","function":{"name":...}}',
  ...t.wordOr(['none', 'auto', 'required'], objectChoice),
};

const functionChoice = {
  type: ['string', 'object', 'null'],
  expected: '"none", "auto" or {"name":...}',
  description: 'The older form of tool_choice, for functions.',
  ...t.wordOr(['none', 'auto'], named),
};

export const chatRequestSchema = t.object(
  {
    model: t.requestedModel,
    messages: t.array(message, { minItems: 1, maxItems: chatLimits.messages }),
    ...samplingFields,
    'max_tokens?': t.integerOrNull(t.tokenLimit),
    'max_completion_tokens?': t.integerOrNull(t.tokenLimit),
    'n?': t.integerOrNull({ minimum: 1, maximum: chatLimits.choices }),
    'stop?': stopField(chatLimits.stops),
    'logprobs?': t.booleanOrNull(),
    'top_logprobs?': t.integerOrNull({ minimum: 0, maximum: chatLimits.topLogprobs }),
    'response_format?': responseFormat,
    'tools?': t.orNull(t.array(tool, { maxItems: chatLimits.tools })),
    'tool_choice?': toolChoice,
    'parallel_tool_calls?': t.booleanOrNull(),
    'reasoning_effort?': t.stringOrNull(),
    'thinking_budget_tokens?': t.integerOrNull({ ...t.tokenLimit, minimum: -1 }),
    'modalities?': t.orNull(
      t.array(t.string({ pattern: '^text$', expected: '"text" (answers are text only)' })),
    ),
    'functions?': t.orNull(
      t.array(t.object(definition), {
        description: 'The older form of tools. Calls are returned as function_call.',
        maxItems: chatLimits.tools,
      }),
    ),
    'function_call?': functionChoice,
    ...serviceTierField,
  },
  {
    title: 'ChatCompletionRequest',
    ...t.known(
      `audio metadata moderation prediction prompt_cache_key prompt_cache_options prompt_cache_retention safety_identifier service_tier
      store user verbosity web_search_options`,
      ...engineFields,
      ...chatEngineFields,
    ),
  },
);
