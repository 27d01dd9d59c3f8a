import { sum } from '../../base/sum.ts';
import { type Merge, type Schema, type SchemaObject, isSame, keywords, tooManyBranches } from './keywords.ts';

/** Context of a walk through schemas. */
export interface Walk {
  /** Resolves a `$ref`. */
  resolve(reference: string): Schema;
  /** Called for every visited schema; throws after too many. */
  step(): void;
  /** Called with the number of visited entries of lists and objects; throws after too many. */
  spend?(entries: number): void;
}

const maxDepth = 32;

/** Merges schemas into one valid where both are; unions multiply. @throws SchemaTooLarge also for a recursive `allOf` */
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

/** Merges `$ref` and `allOf` into the schema. */
export function inlined(schema: SchemaObject, walk: Walk, depth = 0): Schema {
  const { $ref, allOf, ...rest } = normal(schema);
  const parts = [
    ...(typeof $ref === 'string' ? [walk.resolve($ref)] : []),
    rest,
    ...((allOf as Schema[] | undefined) ?? []),
  ];
  return parts.reduce((all, part) => mergeSchemas(all, part, walk, depth + 1));
}

/**
 * Writes a list of `items`, as in earlier drafts, as `prefixItems`, `const` as an `enum`, and OpenAPI's `nullable` as one of the
 * types.
 */
export function normal(schema: SchemaObject): SchemaObject {
  const { const: value, ...others } = schema;
  const own = withNull('const' in schema ? withValues(others, value) : schema);
  if (!Array.isArray(own.items)) return own;
  const { additionalItems, items, ...rest } = own;
  return { ...rest, prefixItems: items, items: additionalItems ?? true };
}

function withValues(schema: SchemaObject, value: unknown): SchemaObject {
  const values = (schema.enum as unknown[] | undefined) ?? [value];
  return { ...schema, enum: values.filter((one) => isSame(one, value)) };
}

function withNull(schema: SchemaObject): SchemaObject {
  const { nullable, type, ...others } = schema;
  if (nullable !== true || type === undefined) return schema;
  return { ...others, type: [...new Set([type, 'null'].flat())] };
}

function mergeObjects(a: SchemaObject, b: SchemaObject, merge: Merge): Schema {
  const merged: SchemaObject = { ...a, ...b };
  for (const keyword of Object.keys(b)) {
    if (!Object.hasOwn(a, keyword)) continue;
    const rule = keywords.get(keyword)?.merge;
    if (rule) merged[keyword] = rule(a[keyword], b[keyword], merge);
  }
  // Before members and items are merged, because recursive schemas may conflict only here.
  if (Array.isArray(merged.type) && merged.type.length === 0) return false;
  if (Array.isArray(merged.enum) && merged.enum.length === 0) return false;
  mergeItems(merged, a, b, merge);
  mergeProperties(merged, a, b, merge);
  // One schema forbids the names of these patterns. The check of the answer covers other overlaps of patterns.
  if ([a, b].some((one) => one.patternProperties === undefined && one.additionalProperties === false))
    delete merged.patternProperties;
  return merged;
}

/** Merges items by position; items beyond `prefixItems` use `items`. */
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

/** Merges properties by name; a missing one uses `additionalProperties`, unless a pattern of that schema may match it. */
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
