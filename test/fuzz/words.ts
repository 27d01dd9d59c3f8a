import * as fc from 'fast-check';

/** Text of people and programs, and text that breaks careless code. */
export const word: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      'hello',
      'What is the weather in Oslo?',
      'Répondez en français, s’il vous plaît.',
      '日本語で答えてください。👩‍👩‍👧‍👦',
      '  ',
      'a\r\nb\u2028c\u0085d',
      '<tool_call>{"name":"look"}</tool_call>',
      '{"a":',
      'data: [DONE]\n\n',
      '\ud800',
      'NUL \u0000 here',
      'constructor',
      '$& $1 ${x}',
    ),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }) },
);

/** Schemas that people use for answers. */
export const schemas: readonly object[] = [
  { type: 'object' },
  {
    type: 'object',
    properties: { city: { type: 'string' }, unit: { enum: ['c', 'f'] } },
    required: ['city', 'unit'],
    additionalProperties: false,
  },
  {
    type: 'object',
    properties: {
      items: { type: 'array', items: { $ref: '#/$defs/item' }, minItems: 1 },
      when: { type: ['string', 'null'], format: 'date' },
    },
    required: ['items'],
    $defs: { item: { type: 'object', properties: { n: { type: 'integer', minimum: 1 } }, required: ['n'] } },
  },
  {
    anyOf: [
      { type: 'object', properties: { ok: { const: true } }, required: ['ok'] },
      { type: 'object', properties: { why: { type: 'string' } }, required: ['why'] },
    ],
  },
];
