import { describe, expect, it } from 'vitest';
import {
  array,
  integer,
  literal,
  metadataSchema,
  nameRule,
  object,
  string,
  titleRule,
  when,
} from './schema.ts';
import { validator } from './validate.ts';

it('requires every field whose name has no question mark', () => {
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

it('applies rules that depend on the value of a field', () => {
  expect(when('type', ['a', 'b'], { id: string(), 'name?': string() })).toEqual({
    if: { required: ['type'], properties: { type: { enum: ['a', 'b'] } } },
    then: { required: ['id'], properties: { id: { type: 'string' }, name: { type: 'string' } } },
  });
});

describe('stored texts', () => {
  const check = validator(
    object({ 'name?': string(nameRule), 'title?': string(titleRule), 'metadata?': metadataSchema }),
  );

  it.each([
    [{ name: 'a\ud800' }, 'name'],
    [{ name: 'a\0' }, 'name'],
    [{ title: '\udfffa' }, 'title'],
    [{ title: 'a\u0085' }, 'title'],
    [{ metadata: { a: '\ud83d' } }, 'metadata.a'],
    [{ metadata: { '\ud83d': 'a' } }, String.raw`metadata["\ud83d"]`],
  ])('%j is refused at %s', (value, place) => {
    expect(check(value).map(({ param }) => param)).toEqual([place]);
  });

  it('may contain surrogate pairs, also where a pattern matches UTF-16 units', () => {
    expect(check({ name: 'a😀', title: '😀', metadata: { '😀': 'b😀' } })).toEqual([]);
    for (const { pattern } of [nameRule, titleRule]) {
      expect('a😀b').toMatch(new RegExp(pattern));
      expect('a\ud83d').not.toMatch(new RegExp(pattern));
    }
  });
});
