import * as t from '../../schema/schema.ts';
import { chatEngineFields, engineFields } from '../../schema/engine-fields.ts';
import { chatLimits, jsonSchemaFields } from '../../chat/request/request-schema.ts';
import { serviceTierField } from '../../shared/service-tier.ts';
import { backgroundWindows } from './background-window.ts';
import { inputItemSchema } from './item-schema.ts';
import { flatOrNested, toolSchema } from './tool-schema.ts';

// The schema is strict about fields that Offpeak uses, and ignores others: agents send dozens of fields and hosted tools.

const named = flatOrNested({ name: t.string({ minLength: 1 }) });

const allowedTools = {
  mode: t.oneOf(['auto', 'required']),
  tools: t.array(t.object({ type: t.string() }), { maxItems: chatLimits.tools }),
};

const toolChoice = {
  type: ['string', 'object', 'null'],
  expected: '"none", "auto", "required" or {"type":"function","name":...}',
  ...t.wordOr(['none', 'auto', 'required'], {
    ...t.fields({
      type: t.oneOf(['function', 'custom', 'allowed_tools', 'local_shell', 'shell', 'apply_patch']),
      'namespace?': t.stringOrNull(),
    }),
    allOf: [t.when('type', ['function', 'custom'], {}, named), t.when('type', 'allowed_tools', allowedTools)],
    ...t.known('name server_label'),
  }),
};

const format = t.object(
  { type: t.oneOf(['text', 'json_object', 'json_schema']) },
  t.when('type', 'json_schema', jsonSchemaFields),
);

const noPrompt = 'no prompt: stored prompts are not supported; send instructions and input';

export const responsesRequestSchema = t.object(
  {
    model: t.requestedModel,
    input: {
      type: ['string', 'array'],
      expected: 'a string or an array of items',
      minItems: 1,
      maxItems: chatLimits.messages,
      items: inputItemSchema,
    },
    'instructions?': t.stringOrNull(),
    'max_output_tokens?': t.integerOrNull(t.tokenLimit),
    'max_tool_calls?': t.integerOrNull(t.tokenLimit),
    'temperature?': t.numberOrNull({ minimum: 0, maximum: 2 }),
    'top_p?': t.numberOrNull({ minimum: 0, maximum: 1 }),
    'top_logprobs?': t.integerOrNull({ minimum: 0, maximum: chatLimits.topLogprobs }),
    'stream?': t.booleanOrNull(),
    'store?': t.booleanOrNull(),
    'background?': t.booleanOrNull(),
    'background_options?': t.orNull(
      t.object({
        'completion_window?': {
          ...t.oneOfOrNull(backgroundWindows),
          description: '"2h" and "8h" run the request like a line of a batch, at the batch price.',
        },
        'continuation_id?': t.stringOrNull({ description: 'Has no effect.' }),
      }),
    ),
    'previous_response_id?': t.stringOrNull(),
    'text?': t.orNull(
      t.object({ 'format?': t.orNull(format), 'verbosity?': t.oneOfOrNull(['low', 'medium', 'high']) }),
    ),
    'tools?': t.orNull(t.array(toolSchema, { maxItems: chatLimits.tools })),
    'tool_choice?': toolChoice,
    'parallel_tool_calls?': t.booleanOrNull(),
    'reasoning?': t.orNull(
      t.object(
        { 'effort?': t.stringOrNull(), 'summary?': t.stringOrNull() },
        t.known('context generate_summary mode enabled exclude max_tokens'),
      ),
    ),
    'include?': t.orNull(t.array(t.string())),
    'metadata?': t.metadataSchema,
    'safety_identifier?': t.stringOrNull(),
    'prompt_cache_key?': t.stringOrNull(),
    ...serviceTierField,
    'conversation?': {
      type: ['string', 'object', 'null'],
      description: 'Id of a conversation, or an object with that id.',
      ...t.ifThen({ type: 'object' }, t.fields({ id: t.string() })),
    },
    'prompt?': { type: 'null', expected: noPrompt, description: noPrompt },
  },
  {
    title: 'ResponsesRequest',
    ...t.known(
      `access_programs client_metadata context_management image moderation prompt_cache_options prompt_cache_retention stream_options
      truncation user seed stop frequency_penalty presence_penalty top_k min_p repetition_penalty repeat_penalty reasoning_effort`,
      'previous_input_messages enable_response_messages',
      ...engineFields,
      ...chatEngineFields,
    ),
  },
);
