import { expect, it } from 'vitest';
import type { SchemaObject } from './keywords.ts';
import { hasRootUnion, objectRoot } from './object-root.ts';

const text = { type: 'string' };

it.each<[string, SchemaObject, SchemaObject]>([
  [
    'alternatives of required members',
    {
      type: 'object',
      properties: { a: text, b: text, c: text },
      required: ['c'],
      anyOf: [{ required: ['a'] }, { required: ['b'] }],
    },
    { type: 'object', properties: { a: text, b: text, c: text }, required: ['c'] },
  ],
  [
    'branches with members of their own',
    {
      title: 'T',
      oneOf: [
        {
          type: 'object',
          properties: { kind: { const: 'a' }, x: text },
          required: ['kind', 'x'],
          additionalProperties: false,
        },
        {
          type: 'object',
          properties: { kind: { const: 'b' }, y: text },
          required: ['kind'],
          additionalProperties: false,
        },
      ],
    },
    {
      title: 'T',
      type: 'object',
      properties: { kind: { anyOf: [{ const: 'a' }, { const: 'b' }] }, x: text, y: text },
      required: ['kind'],
      additionalProperties: false,
    },
  ],
  [
    'parts that all hold',
    {
      allOf: [
        { properties: { a: text }, required: ['a'] },
        { properties: { a: { minLength: 1 }, b: text }, required: ['b'] },
      ],
    },
    { type: 'object', properties: { a: { type: 'string', minLength: 1 }, b: text }, required: ['a', 'b'] },
  ],
  [
    'references',
    {
      allOf: [{ $ref: '#/$defs/A' }],
      $defs: { A: { anyOf: [{ $ref: '#/$defs/B' }] }, B: { properties: { a: text }, required: ['a'] } },
    },
    {
      $defs: { A: { anyOf: [{ $ref: '#/$defs/B' }] }, B: { properties: { a: text }, required: ['a'] } },
      type: 'object',
      properties: { a: text },
      required: ['a'],
    },
  ],
  [
    'what is no schema',
    { anyOf: [7, null, { properties: [], required: 'a' }], allOf: 'x' },
    { type: 'object', properties: {} },
  ],
  [
    'a reference to itself',
    { $ref: '#', anyOf: [{ $ref: '#' }, { $ref: '#' }], properties: { a: text } },
    { type: 'object', properties: { a: text } },
  ],
])('makes one object of %s', (_, schema, expected) => {
  expect(hasRootUnion(schema)).toBe(true);
  expect(objectRoot(schema)).toEqual(expected);
});

it('keeps an object with unions inside unchanged', () => {
  for (const schema of [
    { type: 'object', properties: { a: { anyOf: [text] } } },
    { anyOf: [] },
    { allOf: null },
    { $ref: '#' },
  ])
    expect(hasRootUnion(schema)).toBe(false);
});
