import * as t from '../../schema/schema.ts';

const block = t.object(
  { type: t.oneOf(['text', 'thinking', 'tool_use']) },
  {
    allOf: [
      t.when('type', 'text', { text: t.string() }),
      t.when('type', 'thinking', { thinking: t.string(), signature: t.string() }),
      t.when('type', 'tool_use', { id: t.string(), name: t.string(), input: t.anyObject() }),
    ],
  },
);

const count = t.integer({ minimum: 0 });

export const messageSchema = t.object(
  {
    id: t.string({ pattern: '^msg_', description: 'msg_<id>' }),
    type: t.oneOf(['message']),
    role: t.oneOf(['assistant']),
    model: t.servedModel,
    content: t.array(block),
    stop_reason: t.oneOfOrNull(['end_turn', 'max_tokens', 'stop_sequence', 'tool_use', 'refusal']),
    stop_sequence: t.stringOrNull(),
    stop_details: { type: ['object', 'null'] },
    container: { type: 'null' },
    usage: t.object({
      input_tokens: { ...count, description: 'Without tokens read from the cache.' },
      cache_creation_input_tokens: count,
      cache_read_input_tokens: count,
      output_tokens: count,
      'output_tokens_details?': t.object(
        { 'thinking_tokens?': count },
        { description: 'If the engine reports it.' },
      ),
      service_tier: t.oneOf(['standard', 'batch'], {
        description: 'batch for requests at the batch price: lines of batches, and flex requests.',
      }),
    }),
  },
  { title: 'Message' },
);

export const tokenCountSchema = t.object(
  { input_tokens: count },
  { title: 'TokenCount', additionalProperties: false },
);
