import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createThreadChecker } from './checker.ts';
import { relocateSchema } from './relocate-schema.ts';

describe('relocated', () => {
  it('moves references, wherever schemas stand, and nothing that only looks like one', () => {
    const schema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $id: 'https://example.com/a',
      type: 'object',
      properties: {
        $ref: { type: 'string', default: { $ref: '#/data' } },
        next: { anyOf: [{ $ref: '#' }, { type: 'null' }] },
        odd: { $ref: '#/elsewhere/x' },
      },
      required: ['$ref'],
      elsewhere: { x: { items: { $ref: '#/$defs/a~1b' } } },
      $defs: { 'a/b': { enum: [{ $ref: '#/data' }] } },
    };
    const before = structuredClone(schema);
    expect(relocateSchema(schema, '#/$defs/t')).toEqual({
      type: 'object',
      properties: {
        $ref: { type: 'string', default: { $ref: '#/data' } },
        next: { anyOf: [{ $ref: '#/$defs/t' }, { type: 'null' }] },
        odd: { $ref: '#/$defs/t/elsewhere/x' },
      },
      required: ['$ref'],
      elsewhere: { x: { items: { $ref: '#/$defs/t/$defs/a~1b' } } },
      $defs: { 'a/b': { enum: [{ $ref: '#/data' }] } },
    });
    expect(schema).toEqual(before);
    expect(relocateSchema(true, '#/x')).toBe(true);
  });

  it('means the same at its new place', () => {
    const check = createThreadChecker();
    const leaf = fc.constantFrom<object>({ type: 'string' }, { type: 'integer' }, { $ref: '#/$defs/p' });
    const schemas = fc.record({
      type: fc.constant('object'),
      properties: fc.dictionary(fc.constantFrom('a', 'b', '$ref'), leaf, { maxKeys: 3 }),
      additionalProperties: fc.oneof(leaf, fc.boolean()),
      $defs: fc.record({ p: fc.constantFrom<object>({ const: 'x' }, { type: ['null', 'integer'] }) }),
    });
    const values = fc.dictionary(fc.constantFrom('a', 'b', '$ref', 'c'), fc.constantFrom('x', 'y', 1, null), {
      maxKeys: 3,
    });
    fc.assert(
      fc.property(schemas, values, (schema, value) => {
        const text = JSON.stringify(value);
        const whole = JSON.stringify({
          $ref: '#/$defs/tool',
          $defs: { tool: relocateSchema(schema, '#/$defs/tool') },
        });
        const [here, there] = [JSON.stringify(schema), whole].map((source) => {
          return check({ source, text }).kind;
        });
        expect(there).toBe(here);
      }),
      { numRuns: 50 },
    );
  });
});
