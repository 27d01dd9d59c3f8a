import {
  array,
  askedModel,
  booleanOrNull,
  fields,
  ifThen,
  integerOrNull,
  metadataSchema,
  numberOrNull,
  object,
  oneOf,
  oneOfOrNull,
  orNull,
  string,
  stringOrNull,
  tokenLimit,
  when,
  wordOr,
} from '../../schema.ts';
import { chatLimits, jsonSchemaFields } from '../../chat/request/request-schema.ts';
import { inputItemSchema } from './item-schema.ts';
import { flatOrNested, toolSchema } from './tool-schema.ts';

/**
 * What `POST /v1/responses` takes (specification, section 4.5; wire-formats.md, section 1b). Strict about what is used,
 * tolerant of the rest: agents send fields and hosted tools by the dozen, and must not be locked out by them.
 */
const named = flatOrNested({ name: string({ minLength: 1 }) });

const allowedTools = {
  mode: oneOf(['auto', 'required']),
  tools: array(object({ type: string() }), { maxItems: chatLimits.tools }),
};

const toolChoice = {
  type: ['string', 'object', 'null'],
  expected: '"none", "auto", "required" or {"type":"function","name":...}',
  ...wordOr(['none', 'auto', 'required'], {
    ...fields({
      type: oneOf(['function', 'custom', 'allowed_tools', 'local_shell', 'shell', 'apply_patch']),
      'namespace?': stringOrNull(),
    }),
    allOf: [when('type', ['function', 'custom'], {}, named), when('type', 'allowed_tools', allowedTools)],
  }),
};

const format = object(
  { type: oneOf(['text', 'json_object', 'json_schema']) },
  when('type', 'json_schema', jsonSchemaFields),
);

const noPrompt = 'no prompt: there are no stored prompts here; send instructions and input';

export const responsesRequestSchema = object(
  {
    model: askedModel,
    input: {
      type: ['string', 'array'],
      expected: 'a string or an array of items',
      minItems: 1,
      maxItems: chatLimits.messages,
      items: inputItemSchema,
    },
    'instructions?': stringOrNull(),
    'max_output_tokens?': integerOrNull(tokenLimit),
    'max_tool_calls?': integerOrNull(tokenLimit),
    'temperature?': numberOrNull({ minimum: 0, maximum: 2 }),
    'top_p?': numberOrNull({ minimum: 0, maximum: 1 }),
    'top_logprobs?': integerOrNull({ minimum: 0, maximum: chatLimits.topLogprobs }),
    'stream?': booleanOrNull(),
    'store?': booleanOrNull(),
    'background?': booleanOrNull(),
    'previous_response_id?': stringOrNull(),
    'text?': orNull(
      object({ 'format?': orNull(format), 'verbosity?': oneOfOrNull(['low', 'medium', 'high']) }),
    ),
    'tools?': orNull(array(toolSchema, { maxItems: chatLimits.tools })),
    'tool_choice?': toolChoice,
    'parallel_tool_calls?': booleanOrNull(),
    'reasoning?': orNull(object({ 'effort?': stringOrNull(), 'summary?': stringOrNull() })),
    'include?': orNull(array(string())),
    'metadata?': metadataSchema,
    'safety_identifier?': stringOrNull(),
    'prompt_cache_key?': stringOrNull(),
    'service_tier?': stringOrNull(),
    'conversation?': {
      type: ['string', 'object', 'null'],
      description: 'The id of a conversation, or an object with that id.',
      ...ifThen({ type: 'object' }, fields({ id: string() })),
    },
    'prompt?': { type: 'null', expected: noPrompt, description: noPrompt },
  },
  { title: 'ResponsesRequest' },
);
