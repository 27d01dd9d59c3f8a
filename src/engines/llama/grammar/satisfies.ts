import { typeOf } from './disjoint.ts';
import { type Schema, type SchemaObject, type Walk, sameJson } from './merge.ts';

/**
 * Whether a fixed value (of `const` or `enum`) satisfies the schema it stands in, as far as the keywords go that the
 * grammar holds. `format` is not looked at.
 */
export function satisfies(value: unknown, schema: Schema, walk: Walk, depth = 0): boolean {
  walk.step();
  if (typeof schema === 'boolean') return schema;
  // A schema that refers to itself without looking at a part of the value has nothing to say.
  if (depth > 64) return false;
  const holds = (part: unknown, inner: unknown): boolean => satisfies(part, inner as Schema, walk, depth + 1);
  const count = (options: unknown): number =>
    (options as Schema[]).filter((option) => holds(value, option)).length;
  return (
    (schema.$ref === undefined || holds(value, walk.resolve(schema.$ref as string))) &&
    (!Object.hasOwn(schema, 'const') || sameJson(value, schema.const)) &&
    (schema.enum === undefined || (schema.enum as unknown[]).some((one) => sameJson(value, one))) &&
    (schema.anyOf === undefined || count(schema.anyOf) > 0) &&
    (schema.oneOf === undefined || count(schema.oneOf) === 1) &&
    (schema.allOf === undefined || count(schema.allOf) === (schema.allOf as Schema[]).length) &&
    hasType(value, schema.type) &&
    isWithin(value, schema) &&
    partsHold(value, schema, holds)
  );
}

function hasType(value: unknown, type: unknown): boolean {
  if (type === undefined) return true;
  const types = [type].flat() as string[];
  return types.includes(typeOf(value)) || (types.includes('integer') && Number.isInteger(value));
}

function isWithin(value: unknown, schema: SchemaObject): boolean {
  if (typeof value === 'number') {
    return (
      value >= limit(schema.minimum, -Infinity) &&
      value <= limit(schema.maximum, Infinity) &&
      value > limit(schema.exclusiveMinimum, -Infinity) &&
      value < limit(schema.exclusiveMaximum, Infinity)
    );
  }
  if (typeof value === 'string') {
    const length = Array.from(value).length;
    return length >= limit(schema.minLength, 0) && length <= limit(schema.maxLength, Infinity);
  }
  if (!Array.isArray(value)) return true;
  return value.length >= limit(schema.minItems, 0) && value.length <= limit(schema.maxItems, Infinity);
}

function limit(bound: unknown, otherwise: number): number {
  return typeof bound === 'number' ? bound : otherwise;
}

function partsHold(
  value: unknown,
  schema: SchemaObject,
  holds: (part: unknown, schema: unknown) => boolean,
): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every((item) => holds(item, schema.items ?? true));
  const properties = (schema.properties as Record<string, unknown> | undefined) ?? {};
  const required = (schema.required as string[] | undefined) ?? [];
  return (
    required.every((name) => Object.hasOwn(value, name)) &&
    Object.entries(value).every(([name, member]) =>
      holds(
        member,
        Object.hasOwn(properties, name) ? properties[name] : (schema.additionalProperties ?? true),
      ),
    )
  );
}
