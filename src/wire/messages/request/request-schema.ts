import { chatEngineFields, engineFields } from '../../schema/engine-fields.ts';
import { chatLimits } from '../../chat/request/request-schema.ts';
import * as t from '../../schema/schema.ts';
import { serviceTierField } from '../../shared/service-tier.ts';
import { definedTypes } from './defined-tools.ts';

// The schema is strict about what Offpeak uses. Other fields, server tools and the blocks of such tools are ignored.
const filled = t.string({ minLength: 1 });

/** Blocks of server tools, which clients repeat after a conversation with another server. They are ignored. */
const hosted =
  '[a-z_]+_tool_result|mcp_tool_listing|tool_reference|tool_addition|tool_removal|browser_state|compaction|fallback';

const blockType = (read: readonly string[]) =>
  t.string({
    pattern: `^(${read.join('|')}|${hosted})$`,
    expected: `${read.slice(0, -1).join(', ')} or ${read.at(-1)}`,
  });

/** Fields of blocks of all types that Offpeak does not use, or only forwards. */
const blockFields = t.known('cache_control citations caller toolset_name transformations');

const text = t.when('type', 'text', { text: t.string() });

const imageSource = t.object(
  { type: t.string({ pattern: '^(base64|url)$', expected: '"base64" or "url"' }) },
  {
    allOf: [
      t.when('type', 'base64', {
        media_type: t.string({ pattern: '^image/[a-z0-9.+-]+$', expected: 'a type such as image/png' }),
        data: t.string({ minLength: 1, pattern: '^[A-Za-z0-9+/_=\\s-]*$', expected: 'base64' }),
      }),
      t.when('type', 'url', { url: t.imageUrl }),
    ],
    ...t.known('media_type'),
  },
);

const image = t.when('type', 'image', { source: imageSource });

const textBlocks = {
  type: ['string', 'array'],
  expected: 'a string or an array of text blocks',
  items: t.object(
    { type: t.oneOf(['text']), text: t.string() },
    t.known('cache_control citations source transformations'),
  ),
};

const documentSource = t.object(
  {
    type: t.string({
      pattern: '^(text|content)$',
      expected: '"text" (PDFs and other binary files are not supported)',
    }),
  },
  {
    allOf: [t.when('type', 'text', { data: t.string() }), t.when('type', 'content', { content: textBlocks })],
    ...t.known('media_type'),
  },
);

const document = t.when('type', 'document', {
  'title?': t.stringOrNull(),
  'context?': t.stringOrNull(),
  source: documentSource,
});

const searchResult = t.when('type', 'search_result', {
  source: t.string(),
  title: t.string(),
  content: { ...textBlocks, type: 'array' },
});

const shown = ['text', 'image', 'document', 'search_result'];
const showing = [text, image, document, searchResult];

const toolResult = t.when('type', 'tool_result', {
  tool_use_id: filled,
  'content?': {
    type: ['string', 'array', 'null'],
    expected: 'a string or an array of blocks',
    items: t.object({ type: blockType(shown) }, { allOf: showing, ...blockFields }),
  },
  'is_error?': t.booleanOrNull(),
});

const toolUse = t.when('type', 'tool_use', { id: filled, name: filled, input: t.anyObject() });
const thinkingBlock = t.when('type', 'thinking', { thinking: t.string(), 'signature?': t.stringOrNull() });

const tool = t.object(
  { 'type?': t.stringOrNull() },
  {
    allOf: [
      t.ifThen(
        t.fields({ 'type?': { enum: ['custom', null] } }),
        t.fields({
          name: t.toolName,
          'description?': t.stringOrNull(),
          input_schema: t.anyObject({ description: 'JSON Schema of the input.' }),
          'strict?': t.booleanOrNull(),
        }),
      ),
      t.ifThen(
        t.fields({ type: t.string({ pattern: definedTypes }) }),
        t.fields({
          name: t.toolName,
          'display_width_px?': t.integerOrNull(),
          'display_height_px?': t.integerOrNull(),
          'enable_zoom?': t.booleanOrNull(),
        }),
      ),
    ],
    ...t.known('allowed_callers cache_control defer_loading eager_input_streaming input_examples'),
  },
);

const toolChange = t.when('type', ['tool_addition', 'tool_removal'], {
  tool: t.object({ type: t.string() }, t.when('type', 'tool_definition', { definition: tool })),
});

const userBlock = t.object(
  { type: blockType([...shown, 'tool_result']) },
  { allOf: [...showing, toolResult, toolChange], ...blockFields },
);

/** Any block is accepted, because clients repeat what other servers sent. */
const assistantBlock = t.object(
  {
    type: t.string({
      pattern: '^(?!(image|document|tool_result)$).',
      expected: 'a block of an assistant message',
    }),
  },
  { allOf: [text, toolUse, thinkingBlock], ...blockFields },
);

const systemBlocks = {
  ...textBlocks,
  items: t.object(
    { type: t.oneOf(['text', 'tool_addition', 'tool_removal']) },
    { allOf: [text, toolChange], ...blockFields },
  ),
};

const turn = t.object(
  {
    role: t.oneOf(['user', 'assistant', 'system']),
    content: { type: ['string', 'array'], expected: 'a string or an array of blocks' },
  },
  {
    allOf: [
      t.when('role', 'user', { 'content?': { minItems: 1, items: userBlock } }),
      t.when('role', 'assistant', { 'content?': { items: assistantBlock } }),
      t.when('role', 'system', { 'content?': systemBlocks }),
    ],
    ...t.known('clear_at output_config id'),
  },
);

const toolChoice = t.object(
  { type: t.oneOf(['auto', 'any', 'tool', 'none']), 'disable_parallel_tool_use?': t.booleanOrNull() },
  t.when('type', 'tool', { name: filled }),
);

const thinking = t.object(
  {
    type: t.oneOf(['enabled', 'adaptive', 'disabled', 'between_tools']),
    'budget_tokens?': t.integerOrNull({ ...t.tokenLimit, minimum: 0 }),
    'display?': t.stringOrNull(),
  },
  t.known('block_binding'),
);

const outputFormat = t.orNull(
  t.object({
    type: t.oneOf(['json_schema']),
    schema: t.anyObject({ description: 'The JSON Schema that the answer conforms to.' }),
  }),
);

const prompt = {
  model: t.requestedModel,
  messages: t.array(turn, { minItems: 1, maxItems: chatLimits.messages }),
  'system?': { ...textBlocks, type: ['string', 'array', 'null'] },
  'tools?': t.orNull(t.array(tool, { maxItems: chatLimits.tools })),
  'tool_choice?': t.orNull(toolChoice),
  'thinking?': t.orNull(thinking),
  'output_config?': t.orNull(
    t.object({ 'effort?': t.stringOrNull(), 'format?': outputFormat }, t.known('task_budget')),
  ),
  'output_format?': outputFormat,
  'thread?': t.orNull(t.object({ type: t.string() }, t.known('previous_message_id'))),
};

/** Fields that Offpeak does not use, and those of engines with this format. */
const promptFields = [
  `betas billing_policy cache_control compaction container context_management diagnostics fallback_credit_token fallbacks
  inference_geo mcp_servers service_tier speed user_profile_id workspace_id anthropic_version anthropic_beta min_p`,
  ...engineFields,
  ...chatEngineFields,
];

export const messagesRequestSchema = t.object(
  {
    ...prompt,
    max_tokens: t.integer(t.tokenLimit),
    'stream?': t.booleanOrNull(),
    'stop_sequences?': t.orNull(t.array(filled, { maxItems: 64 })),
    'temperature?': t.numberOrNull({ minimum: 0, maximum: 2 }),
    'top_p?': t.numberOrNull({ minimum: 0, maximum: 1 }),
    'top_k?': t.integerOrNull({ minimum: 0, maximum: 1_000_000 }),
    ...serviceTierField,
    'metadata?': t.orNull(t.object({ 'user_id?': t.stringOrNull({ maxLength: 512 }) })),
  },
  { title: 'MessagesRequest', ...t.known(...promptFields) },
);

export const countTokensRequestSchema = t.object(prompt, {
  title: 'CountTokensRequest',
  // The body of a message may be counted as it is.
  ...t.known('max_tokens stream stop_sequences temperature top_p top_k metadata', ...promptFields),
});
