import { describe, expect, it } from 'vitest';
import { createThreadChecker } from '../checker.ts';

const check = createThreadChecker();
const faultIn = (schema: unknown, value: unknown) => {
  const verdict = check({ source: JSON.stringify(schema), text: JSON.stringify(value) });
  if (verdict.kind === 'fine') return null;
  if (verdict.kind === 'missed') return verdict.how;
  throw new Error(`${verdict.kind}: ${JSON.stringify(verdict)}`);
};

const string = { type: 'string' };
const number = { type: 'number' };
const draft7 = 'http://json-schema.org/draft-07/schema#';
const draft2019 = 'https://json-schema.org/draft/2019-09/schema';

interface Case {
  schema: unknown;
  valid: unknown[];
  /** Values with the fault of each. */
  invalid: [value: unknown, fault: string][];
}

const cases: Record<string, Case> = {
  'true and false': {
    schema: { properties: { a: true, b: false } },
    valid: [{}, { a: 1 }, 7],
    invalid: [[{ b: 1 }, '/b is not allowed']],
  },
  type: {
    schema: { properties: { a: { type: 'integer' }, b: { type: ['array', 'null'] }, c: { type: 'object' } } },
    valid: [{ a: 1 }, { a: 1.0 }, { b: null }, { b: [] }, { c: {} }],
    invalid: [
      [{ a: 1.5 }, '/a must be integer'],
      [{ b: {} }, '/b must be array or null'],
      [{ c: null }, '/c must be object'],
      [{ c: [] }, '/c must be object'],
    ],
  },
  'nullable of OpenAPI': {
    schema: { items: { type: 'string', nullable: true } },
    valid: [['a', null]],
    invalid: [[[1], '/0 must be string']],
  },
  'enum and const': {
    schema: { properties: { a: { enum: [1, 'x', null, { b: [1], c: 2 }] }, d: { const: [{ e: 1, f: 2 }] } } },
    valid: [{ a: 'x' }, { a: null }, { a: { c: 2, b: [1] } }, { d: [{ f: 2, e: 1 }] }],
    invalid: [
      [{ a: '1' }, '/a must be equal to one of the allowed values'],
      [{ a: { b: [1] } }, '/a must be equal to one of the allowed values'],
      [{ d: [{ e: 1 }] }, '/d must be equal to constant'],
    ],
  },
  'bounds of numbers': {
    schema: { items: { minimum: 1, exclusiveMaximum: 3, multipleOf: 0.01 } },
    valid: [[1, 2.99, 'text', 0.29 + 1]],
    invalid: [
      [[0.5], '/0 must be >= 1'],
      [[1, 3], '/1 must be < 3'],
      [[1.005], '/0 must be multiple of 0.01'],
    ],
  },
  'lengths in characters': {
    schema: { items: { minLength: 2, maxLength: 3 } },
    valid: [['ab', 'abc', '😀😀', '😀😀😀', 7]],
    invalid: [
      [['😀'], '/0 must NOT have fewer than 2 characters'],
      [['😀😀😀😀'], '/0 must NOT have more than 3 characters'],
      [['abcdefgh'], '/0 must NOT have more than 3 characters'],
    ],
  },
  'pattern and format': {
    schema: { items: { pattern: '\\d$', format: 'date' } },
    valid: [['2026-11-28', 7]],
    invalid: [
      [['x'], '/0 must match pattern "\\d$"'],
      [['x1'], '/0 must match format "date"'],
    ],
  },
  'numbers of items': {
    schema: { minItems: 1, maxItems: 2, uniqueItems: true },
    valid: [[1], [1, '1'], [{ a: 1, b: 2 }, [1]], { length: 0 }],
    invalid: [
      [[], 'the value must NOT have fewer than 1 items'],
      [[1, 2, 3], 'the value must NOT have more than 2 items'],
      [
        [
          { a: 1, b: 2 },
          { b: 2, a: 1.0 },
        ],
        'the value must NOT have duplicate items',
      ],
    ],
  },
  'prefixItems and items': {
    schema: { prefixItems: [string, number], items: { type: 'null' } },
    valid: [[], ['a'], ['a', 1, null]],
    invalid: [
      [[1], '/0 must be string'],
      [['a', 1, 2], '/2 must be null'],
    ],
  },
  'items as a list': {
    schema: { items: [string], additionalItems: number },
    valid: [['a', 1]],
    invalid: [[['a', 'b'], '/1 must be number']],
  },
  contains: {
    schema: { contains: number, minContains: 2, maxContains: 3 },
    valid: [
      [1, 2],
      [1, 'a', 2, 3],
    ],
    invalid: [
      [[1, 'a'], 'the value must contain at least 2 valid item(s)'],
      [[1, 2, 3, 4], 'the value must contain at most 3 valid item(s)'],
    ],
  },
  'numbers of properties': {
    schema: { minProperties: 1, maxProperties: 2 },
    valid: [{ a: 1 }, [], 7],
    invalid: [
      [{}, 'the value must NOT have fewer than 1 properties'],
      [{ a: 1, b: 2, c: 3 }, 'the value must NOT have more than 2 properties'],
    ],
  },
  properties: {
    schema: {
      properties: { a: string },
      patternProperties: { '^n': number },
      additionalProperties: { type: 'null' },
      propertyNames: { maxLength: 2 },
      required: ['a'],
    },
    valid: [{ a: 'x', n1: 1, z: null }],
    invalid: [
      [{}, "the value must have required property 'a'"],
      [{ a: 1 }, '/a must be string'],
      [{ a: 'x', n: 'y' }, '/n must be number'],
      [
        { a: 'x', 'b/c': 1 },
        "the value has the property name 'b/c', which must NOT have more than 2 characters",
      ],
      [{ a: 'x', '~': 1 }, '/~0 must be null'],
    ],
  },
  'no additional properties': {
    schema: {
      properties: { a: { properties: {}, additionalProperties: false } },
      additionalProperties: false,
    },
    valid: [{}, { a: {} }],
    invalid: [
      [{ b: 1 }, "the value must NOT have additional property 'b'"],
      [{ a: { b: 1 } }, "/a must NOT have additional property 'b'"],
    ],
  },
  dependencies: {
    schema: {
      dependentRequired: { a: ['b'] },
      dependentSchemas: { c: { required: ['d'] } },
      dependencies: { e: ['f'], g: { maxProperties: 1 } },
    },
    valid: [{ a: 1, b: 1 }, { c: 1, d: 1 }, { e: 1, f: 1 }, { g: 1 }],
    invalid: [
      [{ a: 1 }, 'the value must have property b when property a is present'],
      [{ c: 1 }, "the value must have required property 'd'"],
      [{ e: 1 }, 'the value must have property f when property e is present'],
      [{ g: 1, h: 1 }, 'the value must NOT have more than 1 properties'],
    ],
  },
  '$ref with keywords beside it': {
    schema: {
      $schema: draft7,
      definitions: { node: { properties: { next: { $ref: '#/definitions/node', minProperties: 1 } } } },
      $ref: '#/definitions/node',
    },
    valid: [{ next: { next: { a: 1 } } }],
    invalid: [[{ next: { next: {} } }, '/next/next must NOT have fewer than 1 properties']],
  },
  allOf: {
    schema: { allOf: [{ minimum: 1 }, { maximum: 2 }] },
    valid: [1, 2],
    invalid: [
      [0, 'the value must be >= 1'],
      [3, 'the value must be <= 2'],
    ],
  },
  anyOf: {
    schema: { anyOf: [string, { type: 'object', properties: { a: number }, required: ['a'] }] },
    valid: ['x', { a: 1 }],
    invalid: [
      [[], 'the value must be string'],
      // The fault of the branch that went deepest.
      [{ a: 'x' }, '/a must be number'],
    ],
  },
  oneOf: {
    schema: { oneOf: [{ multipleOf: 2 }, { multipleOf: 3 }] },
    valid: [2, 3],
    invalid: [
      [1, 'the value must be multiple of 2'],
      [6, 'the value must match exactly one schema in oneOf'],
    ],
  },
  not: { schema: { not: string }, valid: [1], invalid: [['a', 'the value must NOT be valid']] },
  'if, then and else': {
    schema: { if: { properties: { a: { const: 1 } } }, then: { required: ['b'] }, else: { required: ['c'] } },
    valid: [
      { a: 1, b: 1 },
      { a: 2, c: 1 },
    ],
    invalid: [
      [{ a: 1 }, "the value must have required property 'b'"],
      [{ a: 2 }, "the value must have required property 'c'"],
    ],
  },
  'unevaluatedProperties after every kind of schema': {
    schema: {
      $ref: '#/$defs/a',
      allOf: [{ properties: { b: true } }],
      anyOf: [{ properties: { c: { const: 1 } } }, { properties: { d: true }, required: ['d'] }],
      if: { properties: { e: { const: 1 } }, required: ['e'] },
      dependentSchemas: { a: { patternProperties: { '^f': true } } },
      not: { properties: { g: { const: 1 } }, required: ['g'] },
      unevaluatedProperties: { type: 'null' },
      $defs: { a: { properties: { a: true } } },
    },
    valid: [{ a: 1, b: 1, c: 1, f: 1 }, { e: 1 }, { d: 1, c: 1 }, { other: null }],
    invalid: [
      [{ f: 1 }, '/f must be null'],
      [{ d: 1, c: 2 }, '/c must be null'],
      [{ e: 2 }, '/e must be null'],
      [{ g: 2 }, '/g must be null'],
    ],
  },
  'unevaluatedProperties inside and outside': {
    schema: {
      allOf: [{ properties: { a: true }, unevaluatedProperties: { type: 'number' } }],
      unevaluatedProperties: false,
    },
    valid: [{ a: 'x', b: 1 }],
    invalid: [[{ b: 'x' }, '/b must be number']],
  },
  'unevaluatedProperties beside a failing branch': {
    schema: {
      oneOf: [{ properties: { a: number }, required: ['a'] }, { required: ['b'] }],
      unevaluatedProperties: false,
    },
    valid: [{ a: 1 }],
    invalid: [[{ b: 1 }, "the value must NOT have unevaluated property 'b'"]],
  },
  'unevaluatedItems with nested items': {
    schema: { unevaluatedItems: { type: 'boolean' }, anyOf: [{ items: string }, true] },
    valid: [
      ['a', 'b'],
      [true, false],
    ],
    invalid: [[['a', true], '/0 must be boolean']],
  },
  'unevaluatedItems with contains': {
    schema: { prefixItems: [true], contains: string, unevaluatedItems: false },
    valid: [[1, 'a']],
    invalid: [[[1, 'a', 2], "the value must NOT have unevaluated item '2'"]],
  },
  'unevaluatedItems in draft 2019-09, where contains does not count': {
    schema: { $schema: draft2019, items: [true], contains: string, unevaluatedItems: false },
    valid: [['a']],
    invalid: [[[1, 'a'], "the value must NOT have unevaluated item '1'"]],
  },
};

describe('compileSchema', () => {
  it.each(Object.entries(cases))('%s', (_, { schema, valid, invalid }) => {
    for (const value of valid) expect(faultIn(schema, value), JSON.stringify(value)).toBeNull();
    for (const [value, fault] of invalid) expect(faultIn(schema, value)).toBe(fault);
  });

  it('treats names of JavaScript as ordinary names', () => {
    const schema = JSON.parse(
      '{"properties":{"__proto__":{"type":"number"},"constructor":{"type":"number"}},"required":["toString"]}',
    ) as unknown;
    const fault = (text: string) => check({ source: JSON.stringify(schema), text });
    expect(fault('{}')).toMatchObject({ how: "the value must have required property 'toString'" });
    expect(fault('{"toString":1,"__proto__":"x"}')).toMatchObject({ how: '/__proto__ must be number' });
    expect(fault('{"toString":1,"constructor":"x"}')).toMatchObject({ how: '/constructor must be number' });
    expect(fault('{"toString":1,"__proto__":1}')).toEqual({ kind: 'fine' });
  });

  it.each([
    [{ type: 'strnig' }, '#/type', 'expected array, boolean, integer, null, number, object or string'],
    [{ type: [] }, '#/type', 'expected array, boolean, integer, null, number, object or string'],
    [{ type: ['null', 'null'] }, '#/type', 'duplicate name "null"'],
    [{ items: { enum: 'a' } }, '#/items/enum', 'expected a list with at least one value'],
    [{ enum: [] }, '#/enum', 'expected a list with at least one value'],
    [{ minimum: '1' }, '#/minimum', 'expected a number'],
    [{ exclusiveMaximum: true }, '#/exclusiveMaximum', 'expected a number'],
    [{ maxItems: 1.5 }, '#/maxItems', 'expected an integer that is not negative'],
    [{ multipleOf: 0 }, '#/multipleOf', 'expected a number above 0'],
    [{ pattern: 1 }, '#/pattern', 'expected a string'],
    [{ format: null }, '#/format', 'expected a string'],
    [{ properties: null }, '#/properties', 'expected an object'],
    [{ items: null }, '#/items', 'expected a schema: an object, true or false'],
    [{ uniqueItems: null }, '#/uniqueItems', 'expected true or false'],
    [{ uniqueItems: 'yes' }, '#/uniqueItems', 'expected true or false'],
    [{ required: 'a' }, '#/required', 'expected a list of names'],
    [{ required: ['a', 'a'] }, '#/required', 'duplicate name "a"'],
    [{ dependentRequired: { 'a/b': [1] } }, '#/dependentRequired/a~1b', 'expected a list of names'],
    [{ properties: [] }, '#/properties', 'expected an object'],
    [{ properties: { 'a/b': 1 } }, '#/properties/a~1b', 'expected a schema: an object, true or false'],
    [{ allOf: [] }, '#/allOf', 'expected a list of schemas'],
    [{ anyOf: [{ not: [] }] }, '#/anyOf/0/not', 'expected a schema: an object, true or false'],
    [{ $defs: { a: { minLength: -1 } } }, '#/$defs/a/minLength', 'expected an integer that is not negative'],
    [
      { $ref: '#/x', x: { type: 1 } },
      '#/x/type',
      'expected array, boolean, integer, null, number, object or string',
    ],
  ])('rejects %j at %s', (schema, at, message) => {
    const verdict = check({ source: JSON.stringify(schema), text: null });
    expect(verdict).toEqual({ kind: 'refused', code: 'validation_error', at, message });
  });

  it('rejects an invalid pattern with the reason', () => {
    const verdict = check({ source: '{"items":{"patternProperties":{"(":{}}}}', text: null });
    expect(verdict).toMatchObject({
      at: '#/items/patternProperties',
      message: expect.stringMatching(/^not a reg.*\(/),
    });
  });
});
