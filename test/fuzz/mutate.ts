import * as fc from 'fast-check';

// Damage to the value of a request, at any depth: something is missing, duplicated, of another type, moved, far too
// large or too deep, or named like an inherited property.

type Path = (string | number)[];

/** One change. `at` and `other` select locations in any request. */
export interface Mutation {
  kind: Kind;
  at: number;
  other: number;
  junk: unknown;
  name: string;
}

const kinds = [
  'replace',
  'replace',
  'replace',
  'delete',
  'delete',
  'repeat',
  'swap',
  'copy',
  'rename',
  'add',
  'wrap',
  'retype',
  'deepen',
  'lengthen',
] as const;
type Kind = (typeof kinds)[number];

/** Words that distinguish variants in the formats. */
const words = [
  'user', 'assistant', 'system', 'developer', 'tool', 'function', 'text', 'input_text', 'output_text', 'refusal',
  'image', 'image_url', 'input_image', 'input_file', 'input_audio', 'file', 'document', 'search_result', 'tool_use',
  'tool_result', 'web_search_tool_result', 'thinking', 'redacted_thinking', 'message', 'function_call',
  'function_call_output', 'reasoning', 'item_reference', 'json_schema', 'json_object', 'object', 'string', 'array',
  'auto', 'any', 'none', 'required', 'allowed_tools', 'custom', 'base64', 'url', 'content', 'enabled', 'continue',
  'constructor', '__proto__', 'toString', '',
]; // prettier-ignore

const names = [
  '__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf', 'then', 'toJSON', 'length', '0', '',
  'type', 'role', 'content', 'messages', 'input', 'model', 'stream', 'tools', 'tool_choice', 'id', 'name', 'system',
  'text', 'source', 'function', 'stop', 'n', 'background', 'previous_response_id', 'response_format', 'output_config',
  'api_base', 'a.b', 'a[0]', 'a"b', '\ud800', '$ref', '$id', 'pattern', 'enum', 'properties', 'anyOf', 'é',
]; // prettier-ignore

const junk: fc.Arbitrary<unknown> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom<unknown>(
      null, true, false, 0, -1, 1, 1.5, 2 ** 31, 2 ** 53, -(2 ** 63), 1e308, 5e-324, '', ' ', 'x', '0', 'null', '5',
      '\u0000', '\ud800', '\udfff\ud800', 'file:///etc/passwd', 'http://169.254.169.254/', 'data:', 'data:,x', [], {},
      [[]], [null], [{}], [''], [[[]]], { type: 'text' }, { type: null }, { type: 'object', properties: null },
      { __proto__: null, constructor: { prototype: {} } }, { $ref: '#' }, { $ref: 'http://x/y' }, { not: {} },
      { type: 'string', pattern: '(a+)+$' }, { type: 'string', pattern: '[' }, { enum: [] }, { allOf: [] }, { type: 'x' },
      { type: 'object', required: ['a'], additionalProperties: false }, { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } },
    ), // prettier-ignore
  },
  { weight: 2, arbitrary: fc.constantFrom(...words) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
  { weight: 1, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }) },
);

export const mutation: fc.Arbitrary<Mutation> = fc.record({
  kind: fc.constantFrom(...kinds),
  at: fc.nat(),
  other: fc.nat(),
  junk,
  name: fc.constantFrom(...names),
});

/** Returns a changed copy of the request. */
export function mutated(root: unknown, { kind, at, other, junk: value, name }: Mutation): unknown {
  const places = pathsOf(root, []);
  const path = places[at % places.length]!;
  const there = valueAt(root, path);
  switch (kind) {
    case 'replace':
      return changed(root, path, () => value);
    case 'delete':
      return without(root, path);
    case 'copy':
      return changed(root, path, () => valueAt(root, places[other % places.length]!));
    case 'swap': {
      const second = places[other % places.length]!;
      const moved = changed(root, path, () => valueAt(root, second));
      return exists(moved, second) ? changed(moved, second, () => there) : moved;
    }
    case 'repeat':
      return repeated(root, path, 1 + (other % 3));
    case 'rename':
      return changed(root, path, (each) => (isObject(each) ? renamed(each, other, name) : each));
    case 'add':
      return changed(root, path, (each) => (isObject(each) ? withField(each, name, value) : [each, value]));
    case 'wrap':
      return changed(root, path, (each) => (other % 2 === 0 ? [each] : { [name]: each }));
    case 'retype':
      return changed(root, path, (each) => retyped(each, value));
    case 'deepen':
      return changed(root, path, (each) => nested(each, [5, 40, 70][other % 3]!));
    case 'lengthen':
      return changed(root, path, (each) =>
        lengthened(each, other % 20 === 0 ? 30_000 : [3, 20, 600][other % 3]!),
      );
  }
}

function pathsOf(value: unknown, path: Path): Path[] {
  const found: Path[] = [path];
  if (typeof value === 'object' && value !== null)
    for (const key of Object.keys(value))
      found.push(...pathsOf((value as Body)[key], [...path, Array.isArray(value) ? Number(key) : key]));
  return found;
}

type Body = Record<string | number, unknown>;

const isObject = (value: unknown): value is Body =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function exists(root: unknown, path: Path): boolean {
  let at = root;
  for (const key of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return false;
    at = (at as Body)[key];
  }
  return true;
}

function valueAt(root: unknown, path: Path): unknown {
  return path.reduce<unknown>((at, key) => (at as Body)[key], root);
}

function changed(root: unknown, path: Path, change: (value: unknown) => unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return change(root);
  const inner = changed((root as Body)[key], rest, change);
  if (Array.isArray(root)) return root.with(Number(key), inner);
  return withField(root as Body, String(key), inner);
}

/** Sets an own property of any name; an assignment to `__proto__` would be lost. */
function withField(object: Body, name: string, value: unknown): Body {
  const copy: Body = {};
  for (const key of Object.keys(object)) define(copy, key, object[key]);
  return define(copy, name, value);
}

function define(object: Body, key: string, value: unknown): Body {
  return Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}

function renamed(object: Body, which: number, name: string): Body {
  const keys = Object.keys(object);
  const chosen = keys[which % Math.max(1, keys.length)];
  const copy: Body = {};
  for (const key of keys) define(copy, key === chosen ? name : key, object[key]);
  return copy;
}

function without(root: unknown, path: Path): unknown {
  const last = path.at(-1);
  if (last === undefined) return null;
  return changed(root, path.slice(0, -1), (parent) => {
    if (Array.isArray(parent)) return parent.toSpliced(Number(last), 1);
    const copy: Body = {};
    for (const key of Object.keys(parent as Body)) if (key !== last) define(copy, key, (parent as Body)[key]);
    return copy;
  });
}

function repeated(root: unknown, path: Path, times: number): unknown {
  const last = path.at(-1);
  if (typeof last !== 'number') return root;
  return changed(root, path.slice(0, -1), (list) =>
    (list as unknown[]).toSpliced(last, 0, ...Array<unknown>(times).fill((list as unknown[])[last])),
  );
}

function retyped(value: unknown, junkValue: unknown): unknown {
  if (typeof value === 'string') return value === '' ? 0 : [value];
  if (typeof value === 'number') return `${value}`;
  if (typeof value === 'boolean') return value ? 'true' : 0;
  if (Array.isArray(value)) return Object.fromEntries(value.map((each, at) => [at, each]));
  if (isObject(value)) return Object.values(value);
  return junkValue;
}

function nested(value: unknown, levels: number): unknown {
  let inner = value;
  for (let level = 0; level < levels; level++) inner = level % 2 === 0 ? [inner] : { a: inner };
  return inner;
}

function lengthened(value: unknown, times: number): unknown {
  if (typeof value === 'string') return (value || 'x').repeat(times).slice(0, 1_000_001);
  if (Array.isArray(value))
    return Array.from({ length: Math.min(times, 600) }, (_, at) => value[at % value.length] ?? null);
  if (typeof value === 'number') return value * 10 ** Math.min(times, 300);
  if (isObject(value))
    return {
      ...value,
      ...Object.fromEntries(Array.from({ length: Math.min(times, 600) }, (_, at) => [`k${at}`, at])),
    };
  return Array<unknown>(10).fill(value);
}
