import type { SchemaObject } from './merge.ts';
import { isOf } from './regular/strings.ts';

/**
 * Whether a value of an `enum` is of the type, within the bounds and of the form that stand beside it. What is said about
 * the parts of a list or an object is not looked at.
 */
export function satisfies(value: unknown, schema: SchemaObject): boolean {
  const limit = (keyword: string, otherwise: number) => (schema[keyword] as number | undefined) ?? otherwise;
  const isSized = (what: string, size: number): boolean =>
    size >= limit(`min${what}`, 0) && size <= limit(`max${what}`, Infinity);
  if (!hasType(value, schema.type)) return false;
  if (typeof value === 'number')
    return (
      value >= limit('minimum', -Infinity) &&
      value <= limit('maximum', Infinity) &&
      value > limit('exclusiveMinimum', -Infinity) &&
      value < limit('exclusiveMaximum', Infinity) &&
      all<number>(schema.multipleOf).every((step) => Number.isInteger(value / step))
    );
  if (typeof value === 'string')
    return (
      isSized('Length', Array.from(value).length) && isOf(value, all(schema.pattern), all(schema.format))
    );
  return !Array.isArray(value) || isSized('Items', value.length);
}

function all<T>(said: unknown): T[] {
  return [said ?? []].flat() as T[];
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
