import { expect, it } from 'vitest';
import { Type } from './json-schema.ts';

it('requires every property that is not optional, and shows no mark of it', () => {
  const schema = Type.Object(
    {
      id: Type.String({ minLength: 1 }),
      kind: Type.Optional(Type.Literal('a', { description: 'the kind' })),
      tags: Type.Array(Type.Integer(), { maxItems: 3 }),
      more: Type.Optional(Type.Object({ any: Type.Optional(Type.Unknown({ description: 'anything' })) })),
    },
    { additionalProperties: false },
  );
  expect(JSON.stringify(schema)).toBe(
    JSON.stringify({
      type: 'object',
      required: ['id', 'tags'],
      properties: {
        id: { type: 'string', minLength: 1 },
        kind: { type: 'string', const: 'a', description: 'the kind' },
        tags: { type: 'array', items: { type: 'integer' }, maxItems: 3 },
        more: { type: 'object', properties: { any: { description: 'anything' } } },
      },
      additionalProperties: false,
    }),
  );
});

it('leaves a schema that is used elsewhere as required as it was', () => {
  const name = Type.String();
  const one = Type.Object({ name: Type.Optional(name) });
  const other = Type.Object({ name });
  expect(one).not.toHaveProperty('required');
  expect(other).toHaveProperty('required', ['name']);
});

it('tells the type of a constant', () => {
  expect([Type.Literal('a'), Type.Literal(1), Type.Literal(true)]).toEqual([
    { type: 'string', const: 'a' },
    { type: 'number', const: 1 },
    { type: 'boolean', const: true },
  ]);
});
