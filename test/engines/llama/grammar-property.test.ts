import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ApiError } from '../../../src/core/errors.ts';
import { toGbnf } from '../../../src/engines/llama/grammar/gbnf.ts';
import { formatPatterns } from '../../../src/engines/llama/grammar/formats.ts';
import { createMatcher } from '../../../src/engines/llama/grammar/matcher.ts';
import { UnsatisfiableGrammar } from '../../../src/engines/llama/grammar/analysis.ts';
import { bytes, compile, randomAnswer, seeded } from './random-json.ts';
import { anySchema } from './random-schema.ts';

const ajv = new Ajv2020({ strict: false, multipleOfPrecision: 9 });
formats.default(ajv);

const person = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    age: { type: 'integer', minimum: 0, maximum: 150 },
    kind: { enum: ['a', 'b', 3, null, { deep: [1] }] },
  },
  required: ['name', 'age', 'kind'],
  additionalProperties: false,
};

const schemas: Record<string, object> = {
  person,
  'an order with definitions and unions': {
    $defs: {
      item: {
        type: 'object',
        properties: {
          sku: { type: 'string', minLength: 2, maxLength: 8 },
          quantity: { type: 'integer', exclusiveMinimum: 0, exclusiveMaximum: 100 },
          note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
        },
        required: ['sku', 'quantity', 'note'],
        additionalProperties: false,
      },
    },
    type: 'object',
    properties: {
      items: { type: 'array', minItems: 1, maxItems: 3, items: { $ref: '#/$defs/item' } },
      total: { type: 'number' },
      paid: { type: 'boolean' },
      memo: { type: 'string' },
    },
    required: ['items', 'total', 'paid'],
    additionalProperties: false,
  },
  'a tree': {
    $defs: {
      node: {
        type: 'object',
        properties: { value: { type: 'integer' }, kids: { type: 'array', items: { $ref: '#/$defs/node' } } },
        required: ['value', 'kids'],
        additionalProperties: false,
      },
    },
    $ref: '#/$defs/node',
  },
  'optional members only': {
    type: 'object',
    properties: { a: { type: 'null' }, b: { type: 'boolean' }, c: { const: 'x' }, d: { type: 'integer' } },
    additionalProperties: false,
  },
  'required names without a property': {
    type: 'object',
    required: ['x', 'y'],
    additionalProperties: { type: 'boolean' },
  },
  'a map': { type: 'object', additionalProperties: { type: 'integer', minimum: -5, maximum: 12 } },
  'named members beside others': {
    type: 'object',
    properties: { id: { type: 'integer' }, ideal: { type: 'boolean' }, 'a"b': { type: 'null' } },
    required: ['id'],
    additionalProperties: { type: 'string', maxLength: 3 },
  },
  anything: {},
  'any object': { type: 'object' },
  'several types': { type: ['string', 'integer', 'null'], maxLength: 4, minimum: 7 },
  'exclusive branches': {
    oneOf: [
      { type: 'object', properties: { t: { const: 'a' }, x: { type: 'integer' } }, required: ['t', 'x'] },
      {
        type: 'object',
        properties: { t: { enum: ['b', 'c'] }, x: { type: 'string' } },
        required: ['t', 'x'],
      },
      { type: 'array', items: { type: 'boolean' }, maxItems: 2 },
    ],
  },
  'all of several': {
    allOf: [
      { type: 'object', properties: { a: { type: 'number', minimum: 0 } }, required: ['a'] },
      {
        properties: { a: { type: 'integer', maximum: 9 }, b: { type: 'string', maxLength: 2 } },
        required: ['b'],
      },
    ],
  },
  'a union under common members': {
    type: 'object',
    properties: { id: { type: 'integer' }, a: { type: 'string' }, b: { type: 'boolean' } },
    required: ['id'],
    anyOf: [{ required: ['a'] }, { required: ['b'] }],
    additionalProperties: false,
  },
  'exactly one of three members': {
    type: 'object',
    properties: { id: { type: 'integer' }, a: { type: 'null' }, b: { type: 'boolean' }, c: { type: 'null' } },
    required: ['id'],
    oneOf: [
      { required: ['a'] },
      { required: ['b'], description: 'or this' },
      { type: 'object', required: ['c'] },
    ],
    additionalProperties: false,
  },
  'a reference with more beside it': {
    $defs: { named: { type: 'object', properties: { name: { type: 'string' } } } },
    $ref: '#/$defs/named',
    required: ['name'],
  },
  'numbers between bounds': {
    type: 'array',
    minItems: 3,
    items: { type: 'number', minimum: -1.25, exclusiveMaximum: 3.5 },
    maxItems: 6,
  },
  formats: {
    type: 'object',
    properties: Object.fromEntries(
      Object.keys(formatPatterns).map((format) => [format, { type: 'string', format }]),
    ),
    required: Object.keys(formatPatterns),
  },
  'a format of a length': { type: 'string', format: 'email', minLength: 9, maxLength: 12 },
  patterns: {
    type: 'array',
    minItems: 4,
    maxItems: 4,
    prefixItems: [
      { type: 'string', pattern: '^[A-Z]{2}-\\d{3,5}$' },
      { type: 'string', pattern: 'ab?c', maxLength: 8 },
      { type: 'string', allOf: [{ pattern: '^\\w+$' }, { pattern: '\\d' }, { pattern: '[^0-9]$' }] },
      { type: 'string', pattern: '^(yes|no|"\\\\)$' },
    ],
  },
  'a tuple and what follows': {
    type: 'array',
    prefixItems: [{ type: 'integer' }, { type: 'boolean' }],
    items: { type: 'null' },
    minItems: 1,
  },
  'a tuple and nothing else': { type: 'array', prefixItems: [{ const: 1 }, { const: 2 }], items: false },
  multiples: {
    type: 'array',
    minItems: 5,
    prefixItems: [
      { type: 'integer', multipleOf: 7, minimum: -30, maximum: 400 },
      { type: 'integer', multipleOf: 500, exclusiveMinimum: 0 },
      { type: 'number', multipleOf: 0.25, minimum: 0, maximum: 3 },
      { type: 'number', multipleOf: 0.01, minimum: 0.2, exclusiveMaximum: 0.5 },
      { type: 'number', multipleOf: 12 },
    ],
  },
  'members by pattern': {
    type: 'object',
    properties: { id: { minimum: 10 }, other: { type: 'null' } },
    patternProperties: { '^s_': { type: 'integer' }, '^t_': { type: 'string', maxLength: 3 } },
    additionalProperties: false,
    required: ['id'],
  },
  'members with names of a form': {
    type: 'object',
    propertyNames: { pattern: '^[a-z]+$', maxLength: 4 },
    additionalProperties: { type: 'boolean' },
    minProperties: 1,
  },
  'members with names of a list': {
    type: 'object',
    propertyNames: { enum: ['red', 'green'] },
    additionalProperties: { type: 'integer', minimum: 0 },
    required: ['red'],
  },
  'a zero with and without its sign': {
    type: 'object',
    properties: { a: { enum: [0, 1], const: -0 }, b: { allOf: [{ enum: [-0, 'x'] }, { enum: [0] }] } },
    required: ['a', 'b'],
    additionalProperties: false,
  },
  'no members': { type: 'object', additionalProperties: { type: 'integer' }, maxProperties: 0 },
  'members without names counted': {
    type: 'object',
    additionalProperties: { type: 'null' },
    minProperties: 1,
    maxProperties: 3,
  },
  'a pattern that another branch leaves no room for': {
    allOf: [
      { type: 'object', properties: { a: { type: 'null' } }, additionalProperties: false },
      { patternProperties: { '^x': { type: 'integer' } } },
      { properties: { c: { type: 'null' } } },
    ],
  },
  'trees that meet in no type, whatever is in them': {
    $defs: {
      tree: { type: 'object', additionalProperties: { $ref: '#/$defs/tree' } },
      twigs: { type: 'array', additionalProperties: { $ref: '#/$defs/twigs' } },
      rows: { type: 'array', items: { $ref: '#/$defs/rows' } },
      cells: { type: 'object', items: { $ref: '#/$defs/cells' } },
    },
    anyOf: [
      { allOf: [{ $ref: '#/$defs/tree' }, { $ref: '#/$defs/twigs' }] },
      { allOf: [{ $ref: '#/$defs/rows' }, { $ref: '#/$defs/cells' }] },
      { type: 'integer', minimum: 3, maximum: 30 },
    ],
  },
  'a fixed length': { type: 'string', minLength: 40, maxLength: 40 },
};

/** Keywords that the grammar does not enforce and the check of the answer does. */
const checked: Record<string, object> = {
  'members counted': {
    type: 'object',
    properties: { a: { type: 'null' }, b: { type: 'null' }, c: { type: 'boolean' } },
    additionalProperties: false,
    minProperties: 2,
    maxProperties: 2,
  },
  'members counted in branches': {
    allOf: [
      { type: 'object', maxProperties: 3, properties: { a: { type: 'null' }, b: { type: 'null' } } },
      { maxProperties: 9, properties: { c: { type: 'null' }, d: { type: 'null' } }, required: ['d'] },
    ],
    minProperties: 2,
    additionalProperties: false,
    properties: { a: {}, b: {}, c: {}, d: {} },
  },
  'no more members than may be': {
    type: 'object',
    properties: { a: { type: 'null' }, b: { type: 'null' } },
    required: ['b'],
    additionalProperties: { type: 'integer' },
    maxProperties: 2,
  },
  'a pattern of too many states': { type: 'string', pattern: '^[ab]*a[ab]{14}$', minLength: 3 },
  'names of a pattern of too many states': {
    type: 'object',
    patternProperties: { '^[ab/]*a[ab]{14}$': { type: 'string', maxLength: 2 } },
    additionalProperties: { type: 'string', maxLength: 2 },
  },
  'an unknown format': { type: 'string', format: 'telephone', maxLength: 9 },
  'a step that cannot be written out': { type: 'number', multipleOf: 1.99, maximum: 7 },
  'two steps at once': { type: 'integer', allOf: [{ multipleOf: 6 }, { multipleOf: 4 }], minimum: 0 },
  'bounds finer than a double': { type: 'number', exclusiveMinimum: 123456789.12345678 },
  'more items than are counted': { type: 'array', items: { type: 'null' }, maxItems: 100_000 },
  'something contained': {
    type: 'array',
    items: { type: 'integer', minimum: 0, maximum: 99 },
    contains: { multipleOf: 25, minimum: 1 },
    minContains: 2,
    maxItems: 5,
  },
  'members that need others': {
    type: 'object',
    properties: {
      card: { type: 'integer' },
      address: { type: 'string', maxLength: 5 },
      name: { type: 'null' },
    },
    dependentRequired: { card: ['address'] },
    dependentSchemas: { name: { properties: { address: { minLength: 2 } }, required: ['address'] } },
    additionalProperties: false,
  },
  'one form or another': {
    type: 'object',
    properties: { country: { enum: ['NL', 'US', 'DE'] }, code: { type: 'string' } },
    required: ['country', 'code'],
    if: { properties: { country: { const: 'US' } } },
    then: { properties: { code: { pattern: '^\\d{5}$' } } },
    else: { properties: { code: { pattern: '^\\d{4} ?[A-Z]{2}$' } } },
    additionalProperties: false,
  },
  'values that are not wanted': {
    type: 'array',
    minItems: 3,
    prefixItems: [
      { type: 'integer', minimum: 0, maximum: 3, not: { enum: [1, 2] } },
      { type: 'string', maxLength: 2, not: { pattern: '[^a-c]' } },
    ],
  },
  'branches that overlap': {
    oneOf: [
      { type: 'number', minimum: 0, maximum: 10 },
      { type: 'number', minimum: 5, maximum: 20 },
    ],
    type: 'integer',
  },
  'members of several patterns': {
    type: 'object',
    properties: { s_id: { type: 'number', minimum: 10 } },
    patternProperties: { '^s_': { type: 'integer' }, _t$: { type: ['string', 'integer'], maxLength: 3 } },
    propertyNames: { maxLength: 6 },
  },
  'a name that must come and is of patterns': {
    type: 'object',
    required: ['x1', 'z'],
    patternProperties: { '^x': { type: 'integer' }, '\\d$': { minimum: 7 }, '^q': { type: 'null' } },
    maxProperties: 2,
  },
  'a value of a list beside a pattern': { enum: ['aa', 'b', 7], type: 'string', pattern: '^a', maxLength: 3 },
  'no value twice': { type: 'array', items: { enum: ['a', 'b', 'c', 'd'] }, uniqueItems: true, minItems: 2 },
  'members that nothing looked at': {
    anyOf: [{ type: 'object', properties: { a: { type: 'null' } } }],
    unevaluatedProperties: false,
  },
};

describe('a keyword that is checked afterwards is accepted, and the grammar enforces the rest', () => {
  const omitted = new Set(
    `contains minContains not if then else dependentRequired dependentSchemas unevaluatedProperties minProperties
    maxProperties patternProperties pattern uniqueItems multipleOf exclusiveMinimum maxItems format`.split(
      /\s+/,
    ),
  );
  const strip = (value: unknown): unknown =>
    JSON.parse(
      JSON.stringify(value, (key, part: unknown) => (omitted.has(key) ? undefined : part)).replaceAll(
        '"oneOf"',
        '"anyOf"',
      ),
    );
  for (const [name, schema] of Object.entries(checked)) {
    test(name, () => {
      const validate = ajv.compile(strip(schema) as object);
      const analysed = compile(schema);
      for (let seed = 1; seed <= 60; seed++) {
        const value: unknown = JSON.parse(randomAnswer(analysed, 60, seeded(seed)));
        expect(validate(value), JSON.stringify(value)).toBe(true);
      }
    });
  }
});

describe('any sampled answer is valid and within its limit', () => {
  for (const [name, schema] of Object.entries(schemas)) {
    test(name, () => {
      const validate = ajv.compile(schema);
      const analysed = compile(schema);
      const matcher = createMatcher(analysed);
      const least = matcher.closingBytes(matcher.start);
      for (const budget of [least, least + 1, least + 7, least + 40, 400]) {
        for (let seed = 1; seed <= 20; seed++) {
          const text = randomAnswer(analysed, budget, seeded(seed * 1000 + budget));
          expect(bytes(text), text).toBeLessThanOrEqual(budget);
          expect(validate(JSON.parse(text)), `${text} ${ajv.errorsText(validate.errors)}`).toBe(true);
        }
      }
    });
  }
});

test('random schemas are met, or rejected as unsatisfiable', () => {
  let met = 0;
  fc.assert(
    fc.property(anySchema, fc.nat(), (schema, seed) => {
      // Member patterns in a branch, and beside a list of values, are checked afterwards.
      const text = JSON.stringify(schema);
      fc.pre(!(/"(?:pattern|format)/.test(text) && text.includes('"allOf"')));
      let analysed;
      try {
        analysed = compile(schema);
      } catch (error) {
        expect(error instanceof UnsatisfiableGrammar || error instanceof ApiError, String(error)).toBe(true);
        return;
      }
      const validate = ajv.compile(schema);
      const matcher = createMatcher(analysed);
      const least = matcher.closingBytes(matcher.start);
      const random = seeded(seed);
      for (const budget of [least, least + 5, least + 60]) {
        const answer = randomAnswer(analysed, budget, random);
        expect(bytes(answer)).toBeLessThanOrEqual(budget);
        expect(validate(JSON.parse(answer)), answer).toBe(true);
      }
      met++;
    }),
    { numRuns: 700, seed: 20261121 },
  );
  // Rejections must not have emptied the sample.
  expect(met).toBeGreaterThan(200);
});

test('an object with a required member has it', () => {
  const end = (schema: object, text: string) => {
    const matcher = createMatcher(compile(schema));
    return matcher.advance(matcher.start, text)?.complete === true;
  };
  for (const schema of [
    { additionalProperties: true, minProperties: 1 },
    { properties: { x: {}, y: {} }, minProperties: 2 },
    { patternProperties: { '^x$': {} }, minProperties: 1 },
    { patternProperties: { '^y': false }, minProperties: 1 },
  ])
    expect([end(schema, '{}'), end(schema, '{"x":1}')], JSON.stringify(schema)).toEqual([false, true]);
  expect(end({ properties: { x: {}, y: {} }, minProperties: 3 }, '{"x":1,"y":2,"z":3}')).toBe(true);
  const counted = ['{}', '{"x":1}', '{"x":1,"y":2}', '{"x":1,"y":2,"z":3}'].map((text) =>
    end({ type: 'object', minProperties: 1, maxProperties: 2 }, text),
  );
  expect(counted).toEqual([false, true, true, false]);
});

test('a nullable type of OpenAPI allows null, also in a union, a list of values and a merge', () => {
  const name = { type: 'string', maxLength: 3, nullable: true };
  for (const schema of [
    name,
    { anyOf: [{ type: 'integer' }, name] },
    { ...name, enum: ['a', null] },
    { allOf: [name, { type: ['string', 'null'] }] },
  ]) {
    const matcher = createMatcher(compile(schema));
    const accepted = ['null', '"a"', 'true'].map((text) => matcher.advance(matcher.start, text)?.complete);
    expect(accepted, JSON.stringify(schema)).toEqual([true, true, undefined]);
  }
});

test('a schema without constraints allows anything', () => {
  const matcher = createMatcher(compile({}));
  for (const text of ['[]', '{}', '[1,["a",{"b":[null]}],true]', '{"a":{"b":[{}]},"c":-1.5}', '"x"', 'false'])
    expect(matcher.advance(matcher.start, text)?.complete, text).toBe(true);
});

test('llama.cpp parses every printed grammar', async () => {
  const { LlamaLogLevel, getLlama } = await import('node-llama-cpp');
  const llama = await getLlama({ gpu: false, build: 'never', logLevel: LlamaLogLevel.disabled });
  const compiled = fc.sample(anySchema, { numRuns: 250, seed: 20261122 }).flatMap((schema) => {
    try {
      return [toGbnf(compile(schema).grammar)];
    } catch {
      return [];
    }
  });
  expect(compiled.length).toBeGreaterThan(70);
  for (const grammar of compiled) await expect(llama.createGrammar({ grammar })).resolves.toBeDefined();
  await expect(llama.createGrammar({ grammar: 'root ::= r1' })).rejects.toThrow();
  await llama.dispose();
});

test('a pattern with look-around is enforced without it', () => {
  const analysed = compile({ type: 'string', pattern: '^(?!a)[a-c]{3}$' });
  for (let seed = 1; seed <= 20; seed++)
    expect(randomAnswer(analysed, 40, seeded(seed))).toMatch(/^"[a-c]{3}"$/);
});
