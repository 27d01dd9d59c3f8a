/** Schema that may hang, crash or mislead a server, with the permitted answers. */
export interface HostileSchema {
  name: string;
  /** Schema as JSON text: some cannot be expressed as a JavaScript object. */
  text: string;
  /** 'fine' if it is harmless, the possible codes of a 422, or 'either' if both are acceptable. */
  outcome: 'fine' | 'either' | readonly string[];
}

const complex = ['schema_too_complex'];
const unusable = ['validation_error'];
const unsupported = ['unsupported_keyword'];
const anyRefusal = [
  'schema_too_complex',
  'validation_error',
  'unsupported_keyword',
  'too_deep',
  'duplicate_key',
];

function hostile(name: string, schema: unknown, outcome: HostileSchema['outcome']): HostileSchema {
  return { name, text: typeof schema === 'string' ? schema : JSON.stringify(schema), outcome };
}

const times = <T>(count: number, make: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => make(n));
const named = (count: number, make: (n: number) => unknown) =>
  Object.fromEntries(times(count, (n) => [`p${n}`, make(n)]));

/** Nested JSON text, built by hand because stringifying it would overflow the stack. */
const nested = (count: number, open: string, inner: string, close: string) =>
  open.repeat(count) + inner + close.repeat(count);

/** Definitions, each of which refers to the next one twice, through `how`. */
function doubling(count: number, how: (ref: { $ref: string }) => unknown): unknown {
  const $defs: Record<string, unknown> = { [`d${count}`]: { type: 'number' } };
  for (let n = 0; n < count; n++) $defs[`d${n}`] = how({ $ref: `#/$defs/d${n + 1}` });
  return { $defs, $ref: '#/$defs/d0' };
}

/** Cycle of `count` definitions, each of which refers to the next. */
function ring(count: number, how: (ref: { $ref: string }) => unknown): unknown {
  const $defs = named(count, (n) => how({ $ref: `#/$defs/p${(n + 1) % count}` }));
  return { $defs, $ref: '#/$defs/p0' };
}

const sizes = [
  hostile('a list', [], unusable),
  hostile('text', '"object"', unusable),
  hostile('a number', '7', unusable),
  hostile(
    '20,000 properties',
    { properties: named(20_000, () => ({ type: 'string', minLength: 1 })) },
    complex,
  ),
  hostile(
    '20,000 properties below a property called default',
    {
      properties: { default: { properties: named(20_000, () => ({ type: 'string' })) } },
    },
    complex,
  ),
  hostile('20,000 alternatives', { anyOf: times(20_000, (n) => ({ const: n })) }, complex),
  hostile(
    '20,000 pattern properties',
    {
      patternProperties: Object.fromEntries(times(20_000, (n) => [`^p${n}`, {}])),
    },
    complex,
  ),
  hostile('3,000 levels of properties', nested(3_000, '{"properties":{"a":', '{}', '}}'), anyRefusal),
  hostile('20,000 levels of items', nested(20_000, '{"items":', '{}', '}'), anyRefusal),
  hostile('40 levels of items', nested(40, '{"items":', '{}', '}'), anyRefusal),
  hostile('40 levels of not', nested(40, '{"not":', '{}', '}'), anyRefusal),
  hostile('400 kB of description', { description: 'x'.repeat(400_000) }, complex),
  hostile('100,000 values', { enum: times(100_000, (n) => n) }, complex),
  hostile('5,000 objects as values', { enum: times(5_000, (n) => ({ n })) }, 'fine'),
  hostile('20,000 names required', { required: times(20_000, (n) => `p${n}`) }, 'either'),
  hostile('a name required twice', { required: ['a', 'a'] }, unusable),
  hostile(
    '1,900 properties, all required',
    {
      properties: named(1_900, () => ({ type: 'integer' })),
      required: times(1_900, (n) => `p${n}`),
    },
    'either',
  ),
  hostile(
    '300 unions of types',
    {
      anyOf: times(300, (n) => ({ type: ['string', 'null', 'array'], maxLength: n })),
    },
    'fine',
  ),
];

const references = [
  hostile('itself', { $ref: '#' }, complex),
  hostile('itself through a definition', { $defs: { a: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' }, complex),
  hostile(
    'a ring of two',
    ring(2, (ref) => ref),
    complex,
  ),
  hostile(
    'a ring of a thousand',
    ring(1_000, (ref) => ref),
    complex,
  ),
  hostile(
    'a ring through allOf',
    ring(3, (ref) => ({ allOf: [ref] })),
    complex,
  ),
  hostile(
    'a ring through anyOf',
    ring(3, (ref) => ({ anyOf: [{ type: 'null' }, ref] })),
    complex,
  ),
  hostile(
    'a ring through not',
    ring(3, (ref) => ({ not: ref })),
    complex,
  ),
  hostile(
    'a ring through if',
    ring(3, (ref) => ({ if: ref, then: {} })),
    complex,
  ),
  hostile(
    'a ring through dependentSchemas',
    ring(3, (ref) => ({ dependentSchemas: { a: ref } })),
    complex,
  ),
  hostile(
    'a cycle below an unused definition',
    { $defs: { a: { allOf: [{ $ref: '#/$defs/a' }] } } },
    complex,
  ),
  hostile(
    '2^22 through anyOf',
    doubling(22, (ref) => ({ anyOf: [ref, ref] })),
    complex,
  ),
  hostile(
    '2^60 through anyOf',
    doubling(60, (ref) => ({ anyOf: [ref, ref] })),
    complex,
  ),
  hostile(
    '2^1500 through oneOf',
    doubling(1_500, (ref) => ({ oneOf: [ref, ref] })),
    complex,
  ),
  hostile(
    '2^22 through properties',
    doubling(22, (ref) => ({ properties: { a: ref, b: ref }, required: ['a', 'b'] })),
    complex,
  ),
  hostile(
    '2^12 through allOf',
    doubling(12, (ref) => ({ allOf: [ref, ref] })),
    'fine',
  ),
  hostile(
    '4^11 below if, then and else',
    doubling(11, (ref) => ({ if: ref, then: ref, else: ref, not: ref })),
    complex,
  ),
  hostile(
    'a chain of 900',
    { $defs: named(900, (n) => (n === 899 ? {} : { $ref: `#/$defs/p${n + 1}` })), $ref: '#/$defs/p0' },
    'either',
  ),
  hostile('the metadata service', { $ref: 'http://169.254.169.254/latest/meta-data' }, unusable),
  hostile('a file', { items: { $ref: 'file:///etc/passwd' } }, unusable),
  hostile('a file beside it', { $ref: '../../package.json' }, unusable),
  hostile('the meta-schema', { $ref: 'http://json-schema.org/draft-07/schema#' }, unusable),
  hostile('a name', { $anchor: 'a', items: { $ref: '#a' } }, unusable),
  hostile('nothing', { $ref: '#/$defs/nowhere' }, unusable),
  hostile('text', { title: 'a', $ref: '#/title' }, unusable),
  hostile('a prototype', { $ref: '#/__proto__/toString' }, unusable),
  hostile('a constructor', { $ref: '#/constructor/prototype' }, unusable),
  hostile('no text', { $ref: { $ref: '#' } }, unusable),
  hostile('a broken percent sign', { $ref: '#/%E0%A4%A' }, unusable),
  hostile(
    '20,000 schemas behind a keyword of its own',
    { $ref: '#/x', x: { anyOf: times(20_000, () => ({})) } },
    complex,
  ),
];

const patterns = [
  hostile('(a+)+', { type: 'string', pattern: '^(a+)+$' }, 'fine'),
  hostile('(a|a)*', { pattern: '^(a|a)*$' }, 'fine'),
  hostile('(.*a){20}', { pattern: '(.*a){20}$' }, 'fine'),
  hostile('repetitions of repetitions', { pattern: '((((x{1000}){1000}){1000}){1000})' }, 'either'),
  hostile('two thousands of repetitions', { pattern: 'x{1000}{1000}' }, unusable),
  hostile('forty thousand instructions', { pattern: '[a-z]{1000}'.repeat(40) }, 'either'),
  hostile(
    'forty thousand instructions a hundred times',
    {
      properties: named(100, (n) => ({ pattern: `${'[a-z]{999}'.repeat(40)}${n}` })),
    },
    'either',
  ),
  hostile('a look-ahead', { pattern: '^(?=a)b' }, 'fine'),
  hostile('a look-behind', { pattern: '(?<=a)b' }, 'fine'),
  hostile('a back-reference', { pattern: '(a)\\1' }, 'fine'),
  hostile('a look-ahead that backtracks', { pattern: '^(?!b)(a+)+$' }, 'either'),
  hostile('a look-ahead that takes for ever', { pattern: '^(?!b)(a+)+b$' }, complex),
  hostile('a back reference that takes for ever', { properties: { a: { pattern: '(a*)*\\1b$' } } }, complex),
  hostile(
    'a name with a look-ahead that takes forever',
    { patternProperties: { '^(?!b)(a+)+b$': {} } },
    complex,
  ),
  hostile('65,536 repetitions', { pattern: '^.{0,65536}$' }, 'either'),
  hostile('an open bracket', { pattern: '(' }, unusable),
  hostile('^+', { pattern: '^+[a-z]$' }, 'either'),
  hostile('2,100 characters', { pattern: 'a'.repeat(2_100) }, complex),
  hostile('2,100 characters as a name', { patternProperties: { ['a'.repeat(2_100)]: {} } }, complex),
  hostile('(a+)+ as a name', { patternProperties: { '^(a+)+$': { type: 'string' } } }, 'fine'),
  hostile('500 groups in each other', { pattern: `${'('.repeat(250)}${')'.repeat(250)}` }, 'either'),
  hostile('not text', { pattern: 7 }, unusable),
];

const tricks = [
  hostile('an asynchronous schema', { $async: true, type: 'string' }, unsupported),
  hostile('data as a limit', { properties: { a: { minimum: { $data: '1/b' } }, b: {} } }, unusable),
  hostile('data as a pattern', { properties: { a: { pattern: { $data: '1/b' } }, b: {} } }, unusable),
  hostile(
    'the identifier of the meta-schema',
    { $id: 'http://json-schema.org/draft-07/schema#', type: 'object' },
    'fine',
  ),
  hostile(
    'an identifier inside',
    { properties: { a: { $id: 'http://json-schema.org/draft-07/schema#' } } },
    unsupported,
  ),
  hostile('an unknown dialect', { $schema: 'http://127.0.0.1/schema' }, unsupported),
  hostile('a dialect that is no text', { $schema: { $ref: '#' } }, unsupported),
  hostile('a dynamic reference', { $dynamicAnchor: 'a', items: { $dynamicRef: '#a' } }, unsupported),
  hostile('a recursive reference', { $recursiveAnchor: true, items: { $recursiveRef: '#' } }, unsupported),
  hostile(
    'a prototype',
    '{"type":"object","properties":{"__proto__":{"type":"number"}},"required":["__proto__"]}',
    'either',
  ),
  hostile(
    'a constructor that must be there',
    { type: 'object', required: ['constructor', 'toString'] },
    'fine',
  ),
  hostile(
    'code as a name',
    { properties: { '"];process.exit(1);//': { type: 'string' } }, required: ['"];process.exit(1);//'] },
    'fine',
  ),
  hostile('code as a value', { const: '`${process.exit(1)}`', default: '*/process.exit(1)/*' }, 'fine'),
  hostile('code as a keyword', { 'x"]+process.exit(1)+["': 1, $comment: '*/process.exit(1)/*' }, 'fine'),
  hostile('line separators as a name', { properties: { '\u2028\u2029\u0000': { type: 'string' } } }, 'fine'),
  hostile('half a character as a name', { properties: { '\ud800': { type: 'string' } } }, 'either'),
  hostile('an unknown type', { type: 'strnig' }, unusable),
  hostile('types in types', { type: [['string']] }, unusable),
  hostile('a step of nothing', { type: 'number', multipleOf: 0 }, unusable),
  hostile('infinity', '{"type":"number","minimum":1e400}', 'either'),
  hostile('nothing fits', { type: 'string', not: {} }, 'fine'),
  hostile('a billion items', { type: 'array', minItems: 1_000_000_000 }, complex),
  hostile('a billion characters', { type: 'string', minLength: 1_000_000_000 }, complex),
  hostile('a billion properties', { type: 'object', minProperties: 1_000_000_000 }, complex),
  hostile('half an item', { type: 'array', minItems: 0.5 }, unusable),
  hostile('fewer than none', { type: 'string', maxLength: -1 }, unusable),
  hostile('different items', { type: 'array', uniqueItems: true, items: { type: 'object' } }, 'fine'),
  hostile(
    'formats that ran away elsewhere',
    { anyOf: ['uri', 'email', 'regex', 'idn-email', 'x'].map((format) => ({ format })) },
    'fine',
  ),
];

const groups = { size: sizes, 'reference to': references, pattern: patterns, trick: tricks };

export const hostileSchemas: readonly HostileSchema[] = Object.entries(groups).flatMap(([group, schemas]) =>
  schemas.map((each) => ({ ...each, name: `${group}: ${each.name}` })),
);
