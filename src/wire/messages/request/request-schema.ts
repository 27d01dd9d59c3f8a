import { chatLimits } from '../../chat/request/request-schema.ts';
import {
  anyObject,
  array,
  askedModel,
  booleanOrNull,
  fields,
  ifThen,
  imageUrl,
  integer,
  integerOrNull,
  numberOrNull,
  object,
  oneOf,
  orNull,
  string,
  stringOrNull,
  tokenLimit,
  when,
} from '../../schema.ts';
import { definedTypes } from './client-tools.ts';

/**
 * What a messages request may hold (wire-formats.md, section 1c). Strict about what Offpeak uses; other fields, tools that
 * run on a server, and blocks that such tools left behind are let through and passed over.
 */
const stops = 64;
const filled = string({ minLength: 1 });

/** Blocks that refer to what lives on another server; a client that talked to one repeats them. They are passed over. */
const hosted =
  '[a-z_]+_tool_result|mcp_tool_listing|tool_reference|tool_addition|tool_removal|browser_state|compaction|fallback';

const blockType = (read: readonly string[]) =>
  string({
    pattern: `^(${read.join('|')}|${hosted})$`,
    expected: `${read.slice(0, -1).join(', ')} or ${read.at(-1)}`,
  });

const text = when('type', 'text', { text: string() });

const imageSource = object(
  {
    // As a pattern, so that the fault says what to do.
    type: string({
      pattern: '^(base64|url)$',
      expected: '"base64", because files are not kept for messages',
    }),
  },
  {
    allOf: [
      when('type', 'base64', {
        media_type: string({ pattern: '^image/[a-z0-9.+-]+$', expected: 'a type such as image/png' }),
        data: string({ minLength: 1, pattern: '^[A-Za-z0-9+/_=\\s-]*$', expected: 'base64' }),
      }),
      when('type', 'url', { url: imageUrl }),
    ],
  },
);

const image = when('type', 'image', { source: imageSource });

const textBlocks = {
  type: ['string', 'array'],
  expected: 'a string or an array of text blocks',
  items: object({ type: oneOf(['text']), text: string() }),
};

const documentSource = object(
  {
    type: string({
      pattern: '^(text|content)$',
      expected: '"text", because files such as PDFs are not read here',
    }),
  },
  { allOf: [when('type', 'text', { data: string() }), when('type', 'content', { content: textBlocks })] },
);

const document = when('type', 'document', {
  'title?': stringOrNull(),
  'context?': stringOrNull(),
  source: documentSource,
});

const searchResult = when('type', 'search_result', {
  source: string(),
  title: string(),
  content: { ...textBlocks, type: 'array' },
});

const shown = ['text', 'image', 'document', 'search_result'];
const showing = [text, image, document, searchResult];

const toolResult = when('type', 'tool_result', {
  tool_use_id: filled,
  'content?': {
    type: ['string', 'array', 'null'],
    expected: 'a string or an array of blocks',
    items: object({ type: blockType(shown) }, { allOf: showing }),
  },
  'is_error?': booleanOrNull(),
});

const toolUse = when('type', 'tool_use', { id: filled, name: filled, input: anyObject() });
const thinkingBlock = when('type', 'thinking', { thinking: string(), 'signature?': stringOrNull() });

const userBlock = object({ type: blockType([...shown, 'tool_result']) }, { allOf: [...showing, toolResult] });

/** Whatever another server said is no fault of the client that repeats it. */
const assistantBlock = object(
  {
    type: string({
      pattern: '^(?!(image|document|tool_result)$).',
      expected: 'a block that an assistant says',
    }),
  },
  { allOf: [text, toolUse, thinkingBlock] },
);

const turn = object(
  {
    role: oneOf(['user', 'assistant', 'system']),
    content: { type: ['string', 'array'], expected: 'a string or an array of blocks' },
  },
  {
    allOf: [
      when('role', 'user', { 'content?': { minItems: 1, items: userBlock } }),
      when('role', 'assistant', { 'content?': { items: assistantBlock } }),
      when('role', 'system', { 'content?': textBlocks }),
    ],
  },
);

/** Twice as long as in chat: names of tools behind gateways carry the gateway's name. */
const toolName = string({
  pattern: '^[a-zA-Z0-9_-]{1,128}$',
  expected: '1 to 128 letters, digits, _ or -',
});

const tool = object(
  { 'type?': stringOrNull() },
  {
    allOf: [
      ifThen(
        fields({ 'type?': { enum: ['custom', null] } }),
        fields({
          name: toolName,
          'description?': stringOrNull(),
          input_schema: anyObject({ description: 'JSON Schema of the input.' }),
          'strict?': booleanOrNull(),
        }),
      ),
      ifThen(
        fields({ type: string({ pattern: definedTypes }) }),
        fields({
          name: toolName,
          'display_width_px?': integerOrNull(),
          'display_height_px?': integerOrNull(),
          'enable_zoom?': booleanOrNull(),
        }),
      ),
    ],
  },
);

const toolChoice = object(
  { type: oneOf(['auto', 'any', 'tool', 'none']), 'disable_parallel_tool_use?': booleanOrNull() },
  when('type', 'tool', { name: filled }),
);

const thinking = object({
  type: oneOf(['enabled', 'adaptive', 'disabled', 'between_tools']),
  'budget_tokens?': integerOrNull({ ...tokenLimit, minimum: 0 }),
  'display?': stringOrNull(),
});

const outputFormat = orNull(
  object({
    type: oneOf(['json_schema']),
    schema: anyObject({ description: 'The JSON Schema that the answer conforms to.' }),
  }),
);

const prompt = {
  model: askedModel,
  messages: array(turn, { minItems: 1, maxItems: chatLimits.messages }),
  'system?': { ...textBlocks, type: ['string', 'array', 'null'] },
  'tools?': orNull(array(tool, { maxItems: chatLimits.tools })),
  'tool_choice?': orNull(toolChoice),
  'thinking?': orNull(thinking),
  'output_config?': orNull(object({ 'effort?': stringOrNull(), 'format?': outputFormat })),
  'output_format?': outputFormat,
  'thread?': orNull(object({ type: string() })),
};

export const messagesRequestSchema = object(
  {
    ...prompt,
    max_tokens: integer(tokenLimit),
    'stream?': booleanOrNull(),
    'stop_sequences?': orNull(array(filled, { maxItems: stops })),
    'temperature?': numberOrNull({ minimum: 0, maximum: 2 }),
    'top_p?': numberOrNull({ minimum: 0, maximum: 1 }),
    'top_k?': integerOrNull({ minimum: 0, maximum: 1_000_000 }),
    'metadata?': orNull(object({ 'user_id?': stringOrNull({ maxLength: 512 }) })),
  },
  { title: 'MessagesRequest' },
);

export const countTokensRequestSchema = object(prompt, { title: 'CountTokensRequest' });
