import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect, it } from 'vitest';
import type { JsonSchema } from '../../../src/wire/chat/chat.ts';
import { instanceOf } from './instance.ts';

const schemas: Record<string, JsonSchema> = {
  'an object with required properties': {
    type: 'object',
    properties: { name: { type: 'string', minLength: 3 }, age: { type: 'integer', minimum: 18 }, more: {} },
    required: ['name', 'age'],
    additionalProperties: false,
  },
  'enum and const': {
    type: 'object',
    properties: { a: { enum: ['x', 'y'] }, b: { const: 7 } },
    required: ['a', 'b'],
  },
  'an array with a least length': { type: 'array', items: { type: 'boolean' }, minItems: 2 },
  'a tuple': { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], minItems: 2 },
  'a recursive tree': {
    $defs: {
      node: {
        type: 'object',
        properties: { next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } },
        required: ['next'],
      },
    },
    $ref: '#/$defs/node',
  },
  'allOf of two objects': {
    allOf: [
      { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
      { properties: { b: { type: 'number', exclusiveMinimum: 2 } }, required: ['b'] },
    ],
  },
  'a nullable type list': { type: ['string', 'null'], minLength: 1 },
  'negative numbers': { type: 'number', maximum: -2.5 },
  'a narrow open interval': { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 },
  'a multiple': { type: 'integer', minimum: 7, multipleOf: 5 },
  formats: {
    type: 'array',
    prefixItems: [
      { type: 'string', format: 'date-time' },
      { type: 'string', format: 'uuid' },
    ],
    minItems: 2,
  },
  'a common pattern': { type: 'string', pattern: '^[A-Z]{3}$' },
  anything: true,
};

it.each(Object.keys(schemas))('meets %s', (name) => {
  const schema = schemas[name]!;
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  const valid = ajv.compile(schema);
  expect(valid(instanceOf(schema)), JSON.stringify(valid.errors)).toBe(true);
});

it('leaves a pattern that looks around alone', () => {
  expect(instanceOf({ type: 'string', pattern: '^(?!a).', minLength: 2 })).toBe('aa');
  expect(instanceOf({ type: 'string', format: 'email', pattern: '^(?!a).' })).toBe('a@example.com');
});
