import { chatLimits } from '../../chat/request/request-schema.ts';
import {
  anyObject,
  booleanOrNull,
  integerOrNull,
  nullable,
  numberOrNull,
  oneOf,
  raw,
  string,
  stringOrNull,
  when,
} from '../../schema.ts';
import { definedTypes } from './client-tools.ts';

/**
 * What a messages request may hold (wire-formats.md, section 1c). Strict about what Offpeak uses; other fields, tools that
 * run on a server, and blocks that such tools left behind are let through and passed over.
 */
const stops = 64;

/** Blocks that refer to what lives on another server; a client that talked to one repeats them. They are passed over. */
const hosted =
  '[a-z_]+_tool_result|mcp_tool_listing|tool_reference|tool_addition|tool_removal|browser_state|compaction|fallback';

const blockType = (read: readonly string[]) =>
  string({
    pattern: `^(${read.join('|')}|${hosted})$`,
    expected: `${read.slice(0, -1).join(', ')} or ${read.at(-1)}`,
  });

const text = when('type', 'text', { required: ['text'], properties: { text: string() } });

const image = when('type', 'image', {
  required: ['source'],
  properties: {
    source: {
      type: 'object',
      required: ['type'],
      properties: {
        // As a pattern, so that the fault says what to do.
        type: string({
          pattern: '^(base64|url)$',
          expected: '"base64", because files are not kept for messages',
        }),
      },
      allOf: [
        when('type', 'base64', {
          required: ['media_type', 'data'],
          properties: {
            media_type: string({ pattern: '^image/[a-z0-9.+-]+$', expected: 'a type such as image/png' }),
            data: string({ minLength: 1, pattern: '^[A-Za-z0-9+/_=\\s-]*$', expected: 'base64' }),
          },
        }),
        when('type', 'url', {
          required: ['url'],
          properties: {
            url: string({
              pattern: '^data:',
              expected: 'a data: URL, because images are never fetched for a caller',
            }),
          },
        }),
      ],
    },
  },
});

const textBlocks = {
  type: ['string', 'array'],
  expected: 'a string or an array of text blocks',
  items: {
    type: 'object',
    required: ['type', 'text'],
    properties: { type: oneOf(['text']), text: string() },
  },
};

const document = when('type', 'document', {
  required: ['source'],
  properties: {
    title: stringOrNull(),
    context: stringOrNull(),
    source: {
      type: 'object',
      required: ['type'],
      properties: {
        type: string({
          pattern: '^(text|content)$',
          expected: '"text", because files such as PDFs are not read here',
        }),
      },
      allOf: [
        when('type', 'text', { required: ['data'], properties: { data: string() } }),
        when('type', 'content', { required: ['content'], properties: { content: textBlocks } }),
      ],
    },
  },
});

const searchResult = when('type', 'search_result', {
  required: ['source', 'title', 'content'],
  properties: { source: string(), title: string(), content: { ...textBlocks, type: 'array' } },
});

const resultBlock = {
  type: 'object',
  required: ['type'],
  properties: { type: blockType(['text', 'image', 'document', 'search_result']) },
  allOf: [text, image, document, searchResult],
};

const toolResult = when('type', 'tool_result', {
  required: ['tool_use_id'],
  properties: {
    tool_use_id: string({ minLength: 1 }),
    content: {
      type: ['string', 'array', 'null'],
      expected: 'a string or an array of blocks',
      items: resultBlock,
    },
    is_error: booleanOrNull(),
  },
});

const toolUse = when('type', 'tool_use', {
  required: ['id', 'name', 'input'],
  properties: { id: string({ minLength: 1 }), name: string({ minLength: 1 }), input: anyObject() },
});

const thinkingBlock = when('type', 'thinking', {
  required: ['thinking'],
  properties: { thinking: string(), signature: stringOrNull() },
});

const block = { type: 'object', required: ['type'] };

const turn = raw({
  type: 'object',
  required: ['role', 'content'],
  properties: {
    role: oneOf(['user', 'assistant', 'system']),
    content: { type: ['string', 'array'], expected: 'a string or an array of blocks' },
  },
  allOf: [
    when('role', 'user', {
      properties: {
        content: {
          minItems: 1,
          items: {
            ...block,
            properties: { type: blockType(['text', 'image', 'document', 'search_result', 'tool_result']) },
            allOf: [text, image, document, searchResult, toolResult],
          },
        },
      },
    }),
    // Whatever another server said is no fault of the client that repeats it.
    when('role', 'assistant', {
      properties: {
        content: {
          items: {
            ...block,
            properties: {
              type: string({
                pattern: '^(?!(image|document|tool_result)$).',
                expected: 'a block that an assistant says',
              }),
            },
            allOf: [text, toolUse, thinkingBlock],
          },
        },
      },
    }),
    when('role', 'system', { properties: { content: textBlocks } }),
  ],
});

/** `[a-zA-Z0-9_-]`, twice as long as in chat: names of tools behind gateways carry the gateway's name. */
const toolName = { pattern: '^[a-zA-Z0-9_-]{1,128}$', expected: '1 to 128 letters, digits, _ or -' };

const tool = raw({
  type: 'object',
  properties: { type: stringOrNull() },
  allOf: [
    {
      if: { properties: { type: { enum: ['custom', null] } } },
      then: {
        required: ['name', 'input_schema'],
        properties: {
          name: string(toolName),
          description: stringOrNull(),
          input_schema: anyObject({ description: 'JSON Schema of the input.' }),
          strict: booleanOrNull(),
        },
      },
    },
    {
      if: { required: ['type'], properties: { type: { type: 'string', pattern: definedTypes } } },
      then: {
        required: ['name'],
        properties: {
          name: string(toolName),
          display_width_px: integerOrNull(),
          display_height_px: integerOrNull(),
          enable_zoom: booleanOrNull(),
        },
      },
    },
  ],
});

const toolChoice = raw({
  type: ['object', 'null'],
  required: ['type'],
  properties: {
    type: oneOf(['auto', 'any', 'tool', 'none']),
    disable_parallel_tool_use: booleanOrNull(),
  },
  ...when('type', 'tool', { required: ['name'], properties: { name: string({ minLength: 1 }) } }),
});

const thinking = raw({
  type: ['object', 'null'],
  required: ['type'],
  properties: {
    type: oneOf(['enabled', 'adaptive', 'disabled', 'between_tools']),
    budget_tokens: integerOrNull({ minimum: 0, maximum: 2 ** 31 - 1 }),
    display: stringOrNull(),
  },
});

const outputFormat = raw({
  type: ['object', 'null'],
  required: ['type', 'schema'],
  properties: {
    type: oneOf(['json_schema']),
    schema: anyObject({ description: 'The JSON Schema that the answer conforms to.' }),
  },
});

const prompt = {
  model: string({ minLength: 1, maxLength: 256, description: 'A model id or alias.' }),
  messages: raw({ type: 'array', items: turn, minItems: 1, maxItems: chatLimits.messages }),
  system: raw({ ...textBlocks, type: ['string', 'array', 'null'] }),
  tools: nullable('array', { maxItems: chatLimits.tools, items: tool }),
  tool_choice: toolChoice,
  thinking,
  output_config: raw({
    type: ['object', 'null'],
    properties: { effort: stringOrNull(), format: outputFormat },
  }),
  output_format: outputFormat,
  thread: nullable('object', { required: ['type'], properties: { type: string() } }),
};

export const messagesRequestSchema = raw({
  title: 'MessagesRequest',
  type: 'object',
  required: ['model', 'max_tokens', 'messages'],
  properties: {
    ...prompt,
    max_tokens: { type: 'integer', minimum: 1, maximum: 2 ** 31 - 1 },
    stream: booleanOrNull(),
    stop_sequences: nullable('array', { maxItems: stops, items: string({ minLength: 1 }) }),
    temperature: numberOrNull({ minimum: 0, maximum: 2 }),
    top_p: numberOrNull({ minimum: 0, maximum: 1 }),
    top_k: integerOrNull({ minimum: 0, maximum: 1_000_000 }),
    metadata: raw({ type: ['object', 'null'], properties: { user_id: stringOrNull({ maxLength: 512 }) } }),
  },
});

export const countTokensRequestSchema = raw({
  title: 'CountTokensRequest',
  type: 'object',
  required: ['model', 'messages'],
  properties: prompt,
});
