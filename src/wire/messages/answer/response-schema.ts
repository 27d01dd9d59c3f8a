import { anyObject, oneOf, oneOfOrNull, raw, string, stringOrNull, when } from '../../schema.ts';

/** A message, for the OpenAPI document. */
const block = raw({
  type: 'object',
  required: ['type'],
  properties: { type: oneOf(['text', 'thinking', 'tool_use']) },
  allOf: [
    when('type', 'text', { required: ['text'], properties: { text: string() } }),
    when('type', 'thinking', {
      required: ['thinking', 'signature'],
      properties: { thinking: string(), signature: string() },
    }),
    when('type', 'tool_use', {
      required: ['id', 'name', 'input'],
      properties: { id: string(), name: string(), input: anyObject() },
    }),
  ],
});

const count = { type: 'integer', minimum: 0 };
const properties = {
  id: string({ pattern: '^msg_', description: 'msg_<id>' }),
  type: oneOf(['message']),
  role: oneOf(['assistant']),
  model: string({
    description: 'The model that served the request; it may differ from the alias asked for.',
  }),
  content: raw({ type: 'array', items: block }),
  stop_reason: oneOfOrNull(['end_turn', 'max_tokens', 'stop_sequence', 'tool_use', 'refusal']),
  stop_sequence: stringOrNull(),
  stop_details: raw({ type: ['object', 'null'] }),
  container: raw({ type: 'null' }),
  usage: raw({
    type: 'object',
    required: ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens', 'output_tokens'],
    properties: {
      input_tokens: { ...count, description: 'Without those read from the cache.' },
      cache_creation_input_tokens: count,
      cache_read_input_tokens: count,
      output_tokens: count,
      output_tokens_details: {
        type: 'object',
        description: 'Where the engine tells.',
        properties: { thinking_tokens: count },
      },
    },
  }),
};

export const messageSchema = raw({
  title: 'Message',
  type: 'object',
  required: Object.keys(properties),
  properties,
});

export const tokenCountSchema = raw({
  title: 'TokenCount',
  type: 'object',
  required: ['input_tokens'],
  properties: { input_tokens: count },
  additionalProperties: false,
});
