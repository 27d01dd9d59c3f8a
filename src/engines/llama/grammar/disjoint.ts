import { type Schema, type SchemaObject, type Walk, sameJson } from './merge.ts';

/**
 * Whether no value can satisfy both schemas, as far as types, fixed values and properties required by both tell.
 * False means "not proven". oneOf is exactly anyOf where its branches are disjoint.
 */
export function areDisjoint(a: Schema, b: Schema, walk: Walk, depth = 0): boolean {
  walk.step();
  if (depth > 8) return false;
  if (a === false || b === false) return true;
  if (a === true || b === true) return false;
  if (typeof a.$ref === 'string') return areDisjoint(walk.resolve(a.$ref), b, walk, depth + 1);
  if (typeof b.$ref === 'string') return areDisjoint(a, walk.resolve(b.$ref), walk, depth + 1);
  const [left, right] = [fixedValues(a), fixedValues(b)];
  if (left && right) return !left.some((x) => right.some((y) => sameJson(x, y)));
  if (!typesOf(a).some((type) => typesOf(b).includes(type))) return true;
  return isOnlyObject(a) && isOnlyObject(b) && differInRequired(a, b, walk, depth);
}

function differInRequired(a: SchemaObject, b: SchemaObject, walk: Walk, depth: number): boolean {
  const required = new Set(namesRequired(b));
  return namesRequired(a)
    .filter((name) => required.has(name))
    .some((name) => areDisjoint(property(a, name), property(b, name), walk, depth + 1));
}

function namesRequired(schema: SchemaObject): string[] {
  return Array.isArray(schema.required) ? (schema.required as string[]) : [];
}

function property(schema: SchemaObject, name: string): Schema {
  const properties = schema.properties as Record<string, Schema> | undefined;
  return properties && Object.hasOwn(properties, name) ? properties[name]! : true;
}

function fixedValues(schema: SchemaObject): unknown[] | undefined {
  if (Object.hasOwn(schema, 'const')) return [schema.const];
  return Array.isArray(schema.enum) ? (schema.enum as unknown[]) : undefined;
}

const everyType = ['object', 'array', 'string', 'number', 'boolean', 'null'];

function typesOf(schema: SchemaObject): string[] {
  const fixed = fixedValues(schema);
  if (fixed) return fixed.map(typeOf);
  if (schema.type === undefined) return everyType;
  return [schema.type].flat().map((type) => (type === 'integer' ? 'number' : (type as string)));
}

function isOnlyObject(schema: SchemaObject): boolean {
  return typesOf(schema).every((type) => type === 'object');
}

export function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
