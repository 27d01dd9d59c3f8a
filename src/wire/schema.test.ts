import { expect, it } from 'vitest';
import { array, integer, literal, object, string, when } from './schema.ts';

it('requires every field that has no question mark behind its name', () => {
  const schema = object(
    {
      id: string({ minLength: 1 }),
      'kind?': literal('a'),
      tags: array(integer(), { maxItems: 3 }),
      'more?': object({ 'any?': { description: 'anything' } }),
    },
    { additionalProperties: false },
  );
  expect(schema).toEqual({
    type: 'object',
    required: ['id', 'tags'],
    properties: {
      id: { type: 'string', minLength: 1 },
      kind: { type: 'string', const: 'a' },
      tags: { type: 'array', items: { type: 'integer' }, maxItems: 3 },
      more: { type: 'object', properties: { any: { description: 'anything' } } },
    },
    additionalProperties: false,
  });
});

it('says what follows from the value of a field', () => {
  expect(when('type', ['a', 'b'], { id: string(), 'name?': string() })).toEqual({
    if: { required: ['type'], properties: { type: { enum: ['a', 'b'] } } },
    then: { required: ['id'], properties: { id: { type: 'string' }, name: { type: 'string' } } },
  });
});
