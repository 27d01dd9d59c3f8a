import { fieldsOf, isObject } from '../../base/fields.ts';
import { decodeReference, resolvePointer } from '../../base/json-pointer.ts';
import type { SchemaObject } from './keywords.ts';

/** Members of a schema. */
interface Shape {
  properties: ReadonlyMap<string, unknown>;
  required: ReadonlySet<string>;
  /** Other members are forbidden. */
  isClosed: boolean;
}

/** Limits of the walk: an untrusted schema may refer to itself. */
const max = { shapes: 200, members: 5_000, depth: 8 } as const;

const unions = ['anyOf', 'oneOf', 'allOf'];

/** True if the root of the parameters of a tool combines schemas. */
export function hasRootUnion(schema: unknown): schema is SchemaObject {
  return isObject(schema) && unions.some((keyword) => listOf(schema[keyword]).length > 0);
}

/**
 * Replaces `anyOf`, `oneOf` and `allOf` at the root by one object, for services that reject them there. It has the members of
 * all branches, and requires those that every branch requires. Works with any JSON value as a schema.
 */
export function objectRoot(schema: SchemaObject): SchemaObject {
  const { anyOf: _any, oneOf: _one, allOf: _all, $ref: _ref, ...rest } = schema;
  const { properties, required, isClosed } = createShapes(schema)(schema);
  return {
    ...rest,
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.size > 0 && { required: [...required] }),
    ...(isClosed && { additionalProperties: false }),
  };
}

function createShapes(root: SchemaObject) {
  let shapes = 0;
  let members = 0;
  return function shapeOf(schema: unknown, depth = 0): Shape {
    const { $ref, allOf, anyOf, oneOf, properties, required, additionalProperties } = fieldsOf(schema);
    const own: Shape = {
      properties: new Map(Object.entries(fieldsOf(properties))),
      required: new Set(listOf(required).filter((name) => typeof name === 'string')),
      isClosed: additionalProperties === false,
    };
    members += own.properties.size;
    if (++shapes > max.shapes || members > max.members || depth === max.depth) return own;
    const inner = (each: unknown) => shapeOf(each, depth + 1);
    const target =
      typeof $ref === 'string' && $ref.startsWith('#') ? [resolvePointer(root, decodeReference($ref))] : [];
    const either = [anyOf, oneOf].map(listOf).filter((branches) => branches.length > 0);
    const parts = [...target, ...listOf(allOf)].map(inner);
    return [...parts, ...either.map((branches) => eitherOf(branches.map(inner)))].reduce(bothOf, own);
  };
}

function bothOf(a: Shape, b: Shape): Shape {
  const properties = new Map(a.properties);
  for (const [name, value] of b.properties)
    properties.set(name, properties.has(name) ? bothSchemas(properties.get(name), value) : value);
  return {
    properties,
    required: new Set([...a.required, ...b.required]),
    isClosed: a.isClosed || b.isClosed,
  };
}

function bothSchemas(a: unknown, b: unknown): unknown {
  if (isSame(a, b) || a === true) return b;
  if (!isObject(a) || !isObject(b)) return a;
  const isApart = Object.keys(b).every(
    (keyword) => !Object.hasOwn(a, keyword) || isSame(a[keyword], b[keyword]),
  );
  return isApart ? { ...a, ...b } : { allOf: [a, b] };
}

function eitherOf(shapes: readonly Shape[]): Shape {
  const byName = new Map<string, Map<string, unknown>>();
  for (const { properties } of shapes)
    for (const [name, value] of properties) {
      const known = byName.get(name) ?? new Map<string, unknown>();
      byName.set(name, known.set(JSON.stringify(value), value));
    }
  return {
    properties: new Map(Array.from(byName, ([name, known]) => [name, oneOf([...known.values()])])),
    required: shapes
      .map(({ required }) => required)
      .reduce((a, b) => new Set([...a].filter((name) => b.has(name)))),
    isClosed: shapes.every(({ isClosed }) => isClosed),
  };
}

const oneOf = (schemas: unknown[]) => (schemas.length === 1 ? schemas[0] : { anyOf: schemas });
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
