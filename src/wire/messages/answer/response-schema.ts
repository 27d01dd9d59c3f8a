import {
  anyObject,
  array,
  integer,
  object,
  oneOf,
  oneOfOrNull,
  servedModel,
  string,
  stringOrNull,
  when,
} from '../../schema.ts';

/** A message, for the OpenAPI document. */
const block = object(
  { type: oneOf(['text', 'thinking', 'tool_use']) },
  {
    allOf: [
      when('type', 'text', { text: string() }),
      when('type', 'thinking', { thinking: string(), signature: string() }),
      when('type', 'tool_use', { id: string(), name: string(), input: anyObject() }),
    ],
  },
);

const count = integer({ minimum: 0 });

export const messageSchema = object(
  {
    id: string({ pattern: '^msg_', description: 'msg_<id>' }),
    type: oneOf(['message']),
    role: oneOf(['assistant']),
    model: servedModel,
    content: array(block),
    stop_reason: oneOfOrNull(['end_turn', 'max_tokens', 'stop_sequence', 'tool_use', 'refusal']),
    stop_sequence: stringOrNull(),
    stop_details: { type: ['object', 'null'] },
    container: { type: 'null' },
    usage: object({
      input_tokens: { ...count, description: 'Without those read from the cache.' },
      cache_creation_input_tokens: count,
      cache_read_input_tokens: count,
      output_tokens: count,
      'output_tokens_details?': object(
        { 'thinking_tokens?': count },
        { description: 'Where the engine tells.' },
      ),
    }),
  },
  { title: 'Message' },
);

export const tokenCountSchema = object(
  { input_tokens: count },
  { title: 'TokenCount', additionalProperties: false },
);
