import { isMultiple } from '../../base/is-multiple.ts';
import type { SchemaObject } from './keywords.ts';

/** True if a value of an `enum` has the type and is within the bounds of its schema; ignores other keywords. */
export function satisfies(value: unknown, schema: SchemaObject): boolean {
  return typeof value === 'number' ? isWithin(value, schema) : hasType(value, schema.type);
}

/** `satisfies` for a number. */
export function isWithin(value: number, schema: SchemaObject): boolean {
  return (
    hasType(value, schema.type) &&
    value >= limit(schema, 'minimum', -Infinity) &&
    value <= limit(schema, 'maximum', Infinity) &&
    value > limit(schema, 'exclusiveMinimum', -Infinity) &&
    value < limit(schema, 'exclusiveMaximum', Infinity) &&
    ([schema.multipleOf ?? []].flat() as number[]).every((step) => isMultiple(value, step))
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
