import { chatLimits } from '../../chat/request/request-schema.ts';
import { Type } from '../../json-schema.ts';
import {
  booleanOrNull,
  ifThen,
  nameRule,
  oneOfOrNull,
  raw,
  string,
  stringOrNull,
  when,
} from '../../schema.ts';

/** Tools, strict about those that the client runs; others pass, and are passed over. */
const functionFields = {
  required: ['name'],
  properties: {
    name: string(nameRule),
    description: stringOrNull(),
    parameters: raw({ type: ['object', 'null'], description: 'JSON Schema of the arguments.' }),
    strict: booleanOrNull(),
  },
};

const customFields = {
  required: ['name'],
  properties: {
    name: string(nameRule),
    description: stringOrNull(),
    format: raw({
      type: ['object', 'null'],
      properties: {
        type: oneOfOrNull(['text', 'grammar']),
        syntax: oneOfOrNull(['lark', 'regex']),
        definition: stringOrNull(),
      },
    }),
  },
};

/** Functions come flat, or nested as on chat completions. */
export const isNested = { required: ['function'], not: { properties: { function: { type: 'null' } } } };

const kinds = [
  when(
    'type',
    'function',
    ifThen(
      isNested,
      { required: ['function'], properties: { function: { type: 'object', ...functionFields } } },
      functionFields,
    ),
  ),
  when('type', 'custom', customFields),
];

const type = string({ minLength: 1 });

export const toolSchema = Type.Object(
  { type },
  {
    allOf: [
      ...kinds,
      when('type', 'namespace', {
        required: ['name', 'tools'],
        properties: {
          name: string({ minLength: 1, maxLength: 128 }),
          description: stringOrNull(),
          tools: {
            type: 'array',
            maxItems: chatLimits.tools,
            items: Type.Object({ type }, { allOf: kinds }),
          },
        },
      }),
    ],
  },
);
