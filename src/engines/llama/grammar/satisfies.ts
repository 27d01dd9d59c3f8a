import type { SchemaObject } from './keywords.ts';

/**
 * Whether a value of an `enum` is of the type, the length and within the bounds that stand beside it. Patterns, formats and
 * what is said about the parts of a list or an object are not looked at.
 */
export function satisfies(value: unknown, schema: SchemaObject): boolean {
  const isSized = (what: string, size: number): boolean =>
    size >= limit(schema, `min${what}`, 0) && size <= limit(schema, `max${what}`, Infinity);
  if (typeof value === 'number') return isWithin(value, schema);
  if (!hasType(value, schema.type)) return false;
  if (typeof value === 'string') return isSized('Length', Array.from(value).length);
  return !Array.isArray(value) || isSized('Items', value.length);
}

/** The same of a number. */
export function isWithin(value: number, schema: SchemaObject): boolean {
  return (
    hasType(value, schema.type) &&
    value >= limit(schema, 'minimum', -Infinity) &&
    value <= limit(schema, 'maximum', Infinity) &&
    value > limit(schema, 'exclusiveMinimum', -Infinity) &&
    value < limit(schema, 'exclusiveMaximum', Infinity) &&
    ([schema.multipleOf ?? []].flat() as number[]).every((step) => Number.isInteger(value / step))
  );
}

function limit(schema: SchemaObject, keyword: string, otherwise: number): number {
  return (schema[keyword] as number | undefined) ?? otherwise;
}

function hasType(value: unknown, type: unknown): boolean {
  if (type === undefined) return true;
  const types = [type].flat() as string[];
  return types.includes(typeOf(value)) || (types.includes('integer') && Number.isInteger(value));
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
