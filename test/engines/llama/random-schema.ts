import * as fc from 'fast-check';

const bound = fc.oneof(
  fc.integer({ min: -1200, max: 1200 }),
  fc.double({ min: -50, max: 50, noNaN: true }).map((x) => Number(x.toFixed(3))),
  fc.constantFrom(0, -0, 1e-7, 0.1, -0.05, 9.99, 1e6, -1e6),
);
const bounds = fc.record(
  { minimum: bound, maximum: bound, exclusiveMinimum: bound, exclusiveMaximum: bound },
  { requiredKeys: [] },
);
const count = fc.integer({ min: 0, max: 4 });
const size = (what: string) =>
  fc.record({ [`min${what}`]: count, [`max${what}`]: count }, { requiredKeys: [] });
/** Patterns of every supported kind. */
const pattern = fc.oneof(
  fc.constantFrom(
    '^a+$',
    'b',
    '^[^b]',
    '(^|,)x',
    '^(?:a|bb){2,3}$',
    '\\d\\D',
    '^\\w+\\s?',
    'a$|^b',
    '["\\\\]',
    '^.{2}$',
  ),
  fc.constantFrom('', '^', '^$', '(a|b)*ab', '[\\n-\\x7e]é', '^([a-c]{1,2}-?)+$', 'a{2,}?'),
);
const format = fc.constantFrom(
  'date',
  'time',
  'date-time',
  'duration',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uri',
  'uri-reference',
  'uuid',
  'json-pointer',
  'relative-json-pointer',
);
const text = fc.string({
  unit: fc.constantFrom('a', 'b', '"', '\\', '/', 'é', '😀', '\n', ' '),
  maxLength: 4,
});
const scalar = fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null));

/** Schemas of every shape that the converter supports; many of them are unsatisfiable, which it must detect. */
export const { schema: anySchema } = fc.letrec<{ schema: object; leaf: object }>((tie) => ({
  leaf: fc.oneof(
    bounds.map((b) => ({ type: 'integer', ...b })),
    bounds.map((b) => ({ type: 'number', ...b })),
    fc
      .record({ minLength: count, maxLength: count }, { requiredKeys: [] })
      .map((b) => ({ type: 'string', ...b })),
    fc.tuple(size('Length'), pattern).map(([b, one]) => ({ type: 'string', pattern: one, ...b })),
    format.map((one) => ({ type: 'string', format: one })),
    fc
      .tuple(bounds, fc.constantFrom(1, 2, 3, 7, 10, 25, 40))
      .map(([b, multipleOf]) => ({ type: multipleOf > 1 ? 'integer' : 'number', multipleOf, ...b })),
    fc
      .tuple(fc.integer({ min: -40, max: 40 }), fc.integer({ min: -40, max: 40 }), fc.constantFrom(0.5, 0.1))
      .map(([a, b, multipleOf]) => ({ type: 'number', multipleOf, minimum: a, exclusiveMaximum: b + 0.7 })),
    fc.constantFrom({ type: 'boolean' }, { type: 'null' }, { type: ['integer', 'null'] }, {}),
    fc.array(scalar, { minLength: 1, maxLength: 3 }).map((values) => ({ enum: values })),
    scalar.map((value) => ({ const: value })),
  ),
  schema: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    tie('leaf'),
    fc
      .record({ items: tie('schema'), minItems: count, maxItems: count }, { requiredKeys: [] })
      .map((b) => ({ type: 'array', ...b })),
    fc
      .record({
        properties: fc.dictionary(text, tie('schema'), { maxKeys: 4 }),
        additional: fc.oneof(fc.constant(undefined), fc.boolean(), tie('schema')),
        asked: fc.array(fc.nat(5), { maxLength: 3 }),
      })
      .map(({ properties, additional, asked }) => {
        const names = [...Object.keys(properties), 'extra'];
        return {
          type: 'object',
          properties,
          ...(additional === undefined ? {} : { additionalProperties: additional }),
          required: [...new Set(asked.map((i) => names[i % names.length]!))],
        };
      }),
    fc
      .record(
        { prefixItems: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }), items: tie('schema') },
        { requiredKeys: ['prefixItems'] },
      )
      .chain((tuple) => size('Items').map((b) => ({ type: 'array', ...tuple, ...b }))),
    fc
      .tuple(
        fc.record(
          {
            patternProperties: pattern.chain((one) => tie('schema').map((value) => ({ [one]: value }))),
            propertyNames: fc.oneof(
              size('Length'),
              pattern.map((one) => ({ pattern: one })),
            ),
            additionalProperties: fc.constant(false),
          },
          { requiredKeys: ['additionalProperties'] },
        ),
        fc.constantFrom({}, { minProperties: 1 }),
      )
      .map(([said, b]) => ({ type: 'object', ...said, ...b })),
    fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
    fc.array(tie('schema'), { minLength: 1, maxLength: 2 }).map((allOf) => ({ allOf })),
  ),
}));
