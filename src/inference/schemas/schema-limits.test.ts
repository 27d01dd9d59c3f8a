import { describe, expect, it } from 'vitest';
import { checkSchemaLimits, schemaLimits } from './schema-limits.ts';

const check = (schema: unknown) => checkSchemaLimits(schema);

function nested(depth: number): unknown {
  let schema: unknown = { type: 'string' };
  for (let n = 0; n < depth; n++) schema = { items: schema };
  return schema;
}

/** Definitions of which each names the next one twice: 2^n references when unfolded. */
function doubling(n: number): unknown {
  const $defs: Record<string, unknown> = { d0: { type: 'string' } };
  for (let at = 1; at <= n; at++)
    $defs[`d${at}`] = { anyOf: [{ $ref: `#/$defs/d${at - 1}` }, { $ref: `#/$defs/d${at - 1}` }] };
  return { $ref: `#/$defs/d${n}`, $defs };
}

function wide(count: number): unknown {
  return { anyOf: Array.from({ length: count }, () => ({})) };
}

/** Like the syntax of a language: every kind of node may hold every other. */
function circles(n: number): unknown {
  const kinds = Array.from({ length: n }, (_, at) => `kind${at}`);
  const all = { anyOf: kinds.map((kind) => ({ $ref: `#/$defs/${kind}` })) };
  return { ...all, $defs: Object.fromEntries(kinds.map((kind) => [kind, { properties: { of: all } }])) };
}

describe('checkSchemaBudget', () => {
  it.each([
    ['true', true],
    ['nothing at all', {}],
    ['an ordinary schema', { type: 'object', properties: { a: { enum: [1, 2] } }, required: ['a'] }],
    [
      'a tree that refers to itself',
      { $defs: { node: { properties: { next: { $ref: '#/$defs/node' } } } }, $ref: '#/$defs/node' },
    ],
    ['a schema that is its own reference', { properties: { again: { $ref: '#' } } }],
    ['a pointer with escapes', { $defs: { 'a/b~c': {} }, $ref: '#/$defs/a~1b~0c' }],
    ['the deepest that is taken', nested(schemaLimits.depth)],
    ['an enum that is full', { enum: Array.from({ length: schemaLimits.enumValues }, (_, n) => n) }],
    [
      'properties called like keywords',
      { properties: { $ref: { type: 'string' }, $id: {}, $async: {}, enum: {}, pattern: {}, minItems: {} } },
    ],
    ['14 definitions that all refer to all', circles(14)],
    ['a reference with percent signs', { $defs: { 'a b': {} }, $ref: '#/$defs/a%20b' }],
    [
      'the whole having an identifier',
      { $id: 'https://example.com/', $schema: 'http://json-schema.org/draft-07/schema#' },
    ],
    ['a default that looks like a bomb', { default: nested(200) }],
    ['ten doublings', doubling(10)],
  ])('takes %s', (_what, schema) => {
    expect(() => check(schema)).not.toThrow();
  });

  it.each([
    ['null', null, 'validation_error'],
    ['a list', [], 'validation_error'],
    ['text', 'object', 'validation_error'],
    ['too deep', nested(schemaLimits.depth + 1), 'schema_too_complex'],
    ['far too deep', nested(3_000), 'schema_too_complex'],
    [
      'too many nodes',
      { anyOf: Array.from({ length: schemaLimits.nodes + 1 }, () => ({})) },
      'schema_too_complex',
    ],
    ['2^40 references in 41 definitions', doubling(40), 'schema_too_complex'],
    ['a reference to nothing', { $ref: '#/$defs/nowhere' }, 'validation_error'],
    ['a reference to text', { title: 'x', $ref: '#/title' }, 'validation_error'],
    ['a reference by name', { $anchor: 'x', items: { $ref: '#x' } }, 'validation_error'],
    ['a reference to itself', { $ref: '#' }, 'schema_too_complex'],
    [
      'references in a circle',
      {
        $ref: '#/$defs/a',
        $defs: { a: { allOf: [{ $ref: '#/$defs/b' }] }, b: { not: { $ref: '#/$defs/a' } } },
      },
      'schema_too_complex',
    ],
    ['a dynamic reference', { items: { $dynamicRef: '#x' } }, 'unsupported_keyword'],
    ['an asynchronous schema', { $async: true }, 'unsupported_keyword'],
    ['an identifier inside', { items: { $id: 'https://example.com/' } }, 'unsupported_keyword'],
    ['an unknown dialect', { $schema: 'https://example.com/draft-99' }, 'unsupported_keyword'],
    ['a million items at least', { minItems: 1_000_000 }, 'schema_too_complex'],
    [
      'many schemas under a property called default',
      { properties: { default: wide(2_000) } },
      'schema_too_complex',
    ],
    ['many schemas behind a keyword of its own', { $ref: '#/x', x: wide(2_000) }, 'schema_too_complex'],
    ['a reference to nothing', { $ref: '#/$defs/nowhere' }, 'validation_error'],
    ['a remote reference', { $ref: 'https://example.com/schema.json' }, 'validation_error'],
    ['a file', { items: { $ref: 'file:///etc/passwd' } }, 'validation_error'],
    [
      'a long enum',
      { enum: Array.from({ length: schemaLimits.enumValues + 1 }, (_, n) => n) },
      'schema_too_complex',
    ],
    ['a long pattern', { properties: { a: { pattern: 'a'.repeat(2_049) } } }, 'schema_too_complex'],
  ])('refuses %s', (_what, schema, code) => {
    expect(() => check(schema)).toThrow(expect.objectContaining({ code }));
  });

  it('names the place', () => {
    const schema = { properties: { a: { items: { $ref: 'http://x' } } } };
    expect(() => check(schema)).toThrow(expect.objectContaining({ at: '#/properties/a/items/$ref' }));
  });

  it('is quick about bombs', () => {
    let looks = 0;
    const watched = (value: unknown): unknown =>
      typeof value !== 'object' || value === null
        ? value
        : new Proxy(value, {
            get(of, key) {
              looks++;
              return watched(Reflect.get(of, key));
            },
          });
    for (const schema of [doubling(300), nested(3_000), wide(20_000)]) {
      looks = 0;
      expect(() => check(watched(schema))).toThrow(/more than|deeper than/);
      expect(looks).toBeLessThan(50_000);
    }
  });
});
