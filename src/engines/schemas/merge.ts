import { sum } from '../../base/sum.ts';
import { type Merge, type Schema, type SchemaObject, isSame, keywords } from './keywords.ts';
import { tooManyBranches } from './too-large.ts';

/** How schemas are walked through together. */
export interface Walk {
  /** The schema a `$ref` means. */
  resolve(reference: string): Schema;
  /** Called for every schema looked at; throws when they are too many. */
  step(): void;
  /** Called with how many entries of lists and objects are looked at; throws when they are too many. */
  spend?(entries: number): void;
}

const maxDepth = 32;

/**
 * One schema that holds exactly where both do. Unions multiply; a schema that refers to
 * itself through allOf throws `SchemaTooLarge`.
 */
export function mergeSchemas(left: Schema, right: Schema, walk: Walk, depth = 0): Schema {
  walk.step();
  if (depth > maxDepth) throw tooManyBranches();
  if (left === true) return right;
  if (right === true) return left;
  if (left === false || right === false) return false;
  const merge: Merge = (x, y) => mergeSchemas(x, y, walk, depth + 1);
  const a = inlined(left, walk, depth);
  const b = inlined(right, walk, depth);
  if (typeof a === 'boolean' || typeof b === 'boolean') return merge(a, b);
  walk.spend?.(entriesOf(a, b));
  return mergeObjects(a, b, merge);
}

function entriesOf(a: SchemaObject, b: SchemaObject): number {
  const size = (value: unknown) =>
    typeof value === 'object' && value !== null ? Object.keys(value).length : 1;
  const both = [a, b].flatMap((schema) => Object.values(schema).map(size));
  return sum(both) + size(a.enum) * size(b.enum);
}

/** The same schema without `$ref` and `allOf`: first what it refers to, then what it says itself. */
export function inlined(schema: SchemaObject, walk: Walk, depth = 0): Schema {
  const { $ref, allOf, ...rest } = normal(schema);
  const parts = [
    ...(typeof $ref === 'string' ? [walk.resolve($ref)] : []),
    rest,
    ...((allOf as Schema[] | undefined) ?? []),
  ];
  return parts.reduce((all, part) => mergeSchemas(all, part, walk, depth + 1));
}

/** With the list of `items` of earlier drafts as `prefixItems`, and `const` as an `enum` of one. */
export function normal(schema: SchemaObject): SchemaObject {
  const { const: value, ...others } = schema;
  const own = 'const' in schema ? withValues(others, value) : schema;
  if (!Array.isArray(own.items)) return own;
  const { additionalItems, items, ...rest } = own;
  return { ...rest, prefixItems: items, items: additionalItems ?? true };
}

function withValues(schema: SchemaObject, value: unknown): SchemaObject {
  const values = (schema.enum as unknown[] | undefined) ?? [value];
  return { ...schema, enum: values.filter((one) => isSame(one, value)) };
}

function mergeObjects(a: SchemaObject, b: SchemaObject, merge: Merge): Schema {
  const merged: SchemaObject = { ...a, ...b };
  for (const keyword of Object.keys(b)) {
    if (!Object.hasOwn(a, keyword)) continue;
    const rule = keywords.get(keyword)?.merge;
    if (rule) merged[keyword] = rule(a[keyword], b[keyword], merge);
  }
  // Before their members and items are looked at: schemas that refer to themselves may meet nowhere else.
  if (Array.isArray(merged.type) && merged.type.length === 0) return false;
  if (Array.isArray(merged.enum) && merged.enum.length === 0) return false;
  mergeItems(merged, a, b, merge);
  mergeProperties(merged, a, b, merge);
  // Names of a pattern that the other schema has no room for. How else patterns meet in a name is checked afterwards.
  if ([a, b].some((one) => one.patternProperties === undefined && one.additionalProperties === false))
    delete merged.patternProperties;
  return merged;
}

/** An item that one schema has no place for of its own falls under its `items`. */
function mergeItems(merged: SchemaObject, a: SchemaObject, b: SchemaObject, merge: Merge): void {
  const [left, right] = [a, b].map((schema) => ({
    places: (schema.prefixItems as Schema[] | undefined) ?? [],
    others: (schema.items as Schema | undefined) ?? true,
  }));
  const length = Math.max(left!.places.length, right!.places.length);
  if (length > 0) {
    merged.prefixItems = Array.from({ length }, (_, i) =>
      merge(left!.places[i] ?? left!.others, right!.places[i] ?? right!.others),
    );
  }
  if (a.items !== undefined && b.items !== undefined) merged.items = merge(left!.others, right!.others);
}

/**
 * A property of one schema that the other does not name falls under the other's additionalProperties, unless a pattern of
 * the other may speak of it.
 */
function mergeProperties(merged: SchemaObject, a: SchemaObject, b: SchemaObject, merge: Merge): void {
  const [left, right] = [propertiesOf(a), propertiesOf(b)];
  const others = (schema: SchemaObject): Schema =>
    schema.patternProperties === undefined
      ? ((schema.additionalProperties as Schema | undefined) ?? true)
      : true;
  const names = new Set([...left.keys(), ...right.keys()]);
  if (names.size > 0) {
    merged.properties = Object.fromEntries(
      [...names].map((name) => [name, merge(left.get(name) ?? others(a), right.get(name) ?? others(b))]),
    );
  }
  if (a.additionalProperties !== undefined && b.additionalProperties !== undefined)
    merged.additionalProperties = merge(a.additionalProperties as Schema, b.additionalProperties as Schema);
}

function propertiesOf(schema: SchemaObject): Map<string, Schema> {
  return new Map(Object.entries((schema.properties as Record<string, Schema> | undefined) ?? {}));
}
