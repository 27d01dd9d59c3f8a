import { chatLimits, functionFields } from '../../chat/request/request-schema.ts';
import * as t from '../../schema/schema.ts';

const format = t.object({
  'type?': t.oneOfOrNull(['text', 'grammar']),
  'syntax?': t.oneOfOrNull(['lark', 'regex']),
  'definition?': t.stringOrNull(),
});

/** Functions and choices are flat, or nested as in chat completions. */
const isNested = { required: ['function'], not: { properties: { function: { type: 'null' } } } };
export const flatOrNested = (given: t.Fields) =>
  t.ifThen(isNested, t.fields({ function: t.object(given) }), t.fields(given));

const kinds = [
  t.when('type', 'function', {}, flatOrNested(functionFields)),
  t.when('type', 'custom', {
    name: t.toolName,
    'description?': t.stringOrNull(),
    'format?': t.orNull(format),
  }),
  t.when('type', 'tool_search', {
    'execution?': t.oneOfOrNull(['client', 'server']),
    'description?': t.stringOrNull(),
    'parameters?': t.orNull(t.anyObject()),
  }),
];

const toolFields = t.known('allowed_callers async cache_control defer_loading output_schema');

// Strict about tools that the client runs; others are ignored.
const type = t.string({ minLength: 1 });

const namespace = {
  name: t.string({ minLength: 1, maxLength: 128 }),
  'description?': t.stringOrNull(),
  tools: t.array(t.object({ type }, { allOf: kinds, ...toolFields }), { maxItems: chatLimits.tools }),
};

export const toolSchema = t.object(
  { type },
  { allOf: [...kinds, t.when('type', 'namespace', namespace)], ...toolFields },
);
