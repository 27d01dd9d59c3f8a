import { Ajv2020 } from 'ajv/dist/2020.js';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { compile, randomAnswer, seeded } from '../../../test/engines/llama/random-json.ts';
import { anySchema } from '../../../test/engines/llama/random-schema.ts';
import { grammarSchema } from './grammar-schema.ts';
import type { Schema } from './keywords.ts';

const integer = { type: 'integer' };
const needs = (...names: string[]) => ({
  properties: Object.fromEntries(names.map((name) => [name, integer])),
  required: names,
});
const made = (schema: Schema) => grammarSchema(schema, 1_900);

it.each<[string, Schema, Schema]>([
  [
    'leaves a plain schema alone',
    { type: 'object', ...needs('a'), additionalProperties: false },
    { type: 'object', ...needs('a'), additionalProperties: false },
  ],
  [
    'puts what stands beside a union into its branches',
    { title: 't', type: 'object', ...needs('k'), anyOf: [needs('a'), needs('b')] },
    {
      title: 't',
      anyOf: [
        { type: 'object', ...needs('k', 'a') },
        { type: 'object', ...needs('k', 'b') },
      ],
    },
  ],
  [
    'takes any branch of oneOf',
    { oneOf: [integer, { type: 'null' }] },
    { anyOf: [integer, { type: 'null' }] },
  ],
  [
    'puts two unions together',
    { anyOf: [needs('a'), needs('b')], oneOf: [needs('c')] },
    {
      anyOf: [
        { anyOf: [{ ...needs('c', 'a'), required: ['a', 'c'] }] },
        { anyOf: [{ ...needs('c', 'b'), required: ['b', 'c'] }] },
      ],
    },
  ],
  [
    'puts what stands beside a reference together with what it names',
    { $defs: { A: needs('a') }, $ref: '#/$defs/A', ...needs('k') },
    { $defs: { A: needs('a') }, ...needs('a', 'k') },
  ],
  [
    'leaves a reference with notes alone',
    { properties: { a: { $ref: '#/$defs/A', description: 'd' } }, $defs: { A: integer } },
    { properties: { a: { $ref: '#/$defs/A', description: 'd' } }, $defs: { A: integer } },
  ],
  ['puts the parts of allOf together', { allOf: [needs('a'), needs('b')] }, needs('a', 'b')],
  [
    'takes an allOf of one reference for the reference',
    { properties: { a: { allOf: [{ $ref: '#/$defs/A' }], default: 1 } }, $defs: { A: integer } },
    { properties: { a: { $ref: '#/$defs/A', default: 1 } }, $defs: { A: integer } },
  ],
  [
    'declares required names',
    { type: 'object', ...needs('a'), required: ['a', 'z'] },
    { type: 'object', properties: { a: integer, z: {} }, required: ['a', 'z'] },
  ],
  [
    'declares them as additional ones',
    { required: ['z'], additionalProperties: integer },
    { properties: { z: integer }, required: ['z'], additionalProperties: integer },
  ],
  [
    'takes values of the type alone',
    { type: 'string', enum: ['a', null, 7] },
    { type: 'string', enum: ['a'] },
  ],
  ['writes patterns plainly', { pattern: '^\\d$' }, { pattern: '^[0-9]$' }],
  [
    'leaves out patterns that only look around',
    { type: 'string', pattern: '^(?!a)', format: 'email' },
    { type: 'string', format: 'email' },
  ],
  ['leaves out formats that ask for nothing', { type: 'integer', format: 'int32' }, integer],
  ['leaves out bounds that are too large', { maxItems: 2_000, minItems: 2 }, { minItems: 2 }],
  ['lowers what must be there at least', { minLength: 5_000, maxLength: 9_000 }, { minLength: 1_900 }],
  [
    'leaves out what no grammar holds',
    { items: integer, uniqueItems: true, contains: {}, not: {}, if: {}, then: {} },
    { items: integer },
  ],
  [
    'takes members of patterns for additional ones',
    { patternProperties: { '^x': integer }, additionalProperties: false },
    { additionalProperties: integer },
  ],
  [
    'leaves out members that are forbidden by name',
    { properties: { a: false, b: integer } },
    { properties: { b: integer } },
  ],
  [
    'takes the list of items of earlier drafts',
    { items: [integer], additionalItems: false },
    { prefixItems: [integer], items: false },
  ],
])('%s', (_, schema, expected) => {
  expect(made(schema)).toEqual(expected);
});

it('keeps the references of a recursive schema', () => {
  const node = {
    type: 'object',
    properties: {
      next: { allOf: [{ $ref: '#/$defs/node' }], title: 'Next' },
      tag: { $ref: '#/$defs/tag', minLength: 1 },
    },
  };
  const schema = { $defs: { node, tag: { type: 'string', maxLength: 9 } }, $ref: '#/$defs/node' };
  expect(made(schema)).toMatchObject({
    $ref: '#/$defs/node',
    $defs: {
      node: {
        properties: { next: { $ref: '#/$defs/node' }, tag: { type: 'string', maxLength: 9, minLength: 1 } },
      },
    },
  });
});

it('keeps unions unmerged where the merge would be too large', () => {
  const endless = {
    $defs: { a: { properties: { b: { $ref: '#/$defs/a', required: ['b'] } } } },
    $ref: '#/$defs/a',
    type: 'object',
  };
  expect(made(endless)).toMatchObject({ $ref: '#/$defs/a', type: 'object' });
  const wide = {
    properties: { a: { description: 'x'.repeat(20_000), pattern: '\\d' } },
    anyOf: Array.from({ length: 50 }, (_, n) => needs(`p${n}`)),
  };
  const { anyOf, properties } = made(wide) as typeof wide;
  expect(anyOf).toHaveLength(50);
  expect(properties.a.pattern).toContain('[0-9]');
  const names = Array.from({ length: 5_000 }, (_, n) => `n${n}`);
  const required = { required: names, anyOf: names.slice(0, 500).map((name) => ({ required: [name] })) };
  expect(JSON.stringify(made(required)).length).toBeLessThan(200_000);
});

it('keeps valid values valid, except for strings under a pattern', () => {
  const schemas = fc.sample(anySchema, { numRuns: 100, seed: 20261127 });
  let checked = 0;
  for (const schema of schemas) {
    if (/"pattern/.test(JSON.stringify(schema))) continue;
    let texts: string[] = [];
    try {
      const analysed = compile(schema);
      texts = [1, 2, 3].map((seed) => randomAnswer(analysed, 40, seeded(seed)));
    } catch {
      continue;
    }
    const ajv = () => new Ajv2020({ strict: false, logger: false, validateFormats: false });
    const own = ajv().compile(schema);
    const grammar = ajv().compile(made(schema as Schema));
    for (const text of texts) {
      const value: unknown = JSON.parse(text);
      if (!own(value)) continue;
      expect(grammar(value), `${text} under ${JSON.stringify(schema)}`).toBe(true);
      checked++;
    }
  }
  expect(checked).toBeGreaterThan(50);
});
