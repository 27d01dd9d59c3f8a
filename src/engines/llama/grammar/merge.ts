import { isDeepStrictEqual } from 'node:util';
import { SchemaTooLarge } from './grammar.ts';

/** A JSON Schema: an object of keywords, or true (anything) or false (nothing). */
export type Schema = boolean | SchemaObject;
export type SchemaObject = Record<string, unknown>;

/** How schemas are walked through together. */
export interface Walk {
  /** The schema a `$ref` means. */
  resolve(reference: string): Schema;
  /** Called for every schema looked at; throws when they are too many. */
  step(): void;
}

/** What two schemas ask for together cannot be written as one schema without growing out of hand. */
export const tooManyBranches = () => new SchemaTooLarge('the combinations of its branches are too many');

const maxBranches = 256;
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
  return mergeObjects(a, b, merge);
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

type Merge = (a: Schema, b: Schema) => Schema;

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

/** In JSON 0 and -0 are one number. */
function isSame(a: unknown, b: unknown): boolean {
  return a === b || isDeepStrictEqual(a, b);
}

function mergeObjects(a: SchemaObject, b: SchemaObject, merge: Merge): Schema {
  const merged: SchemaObject = { ...a, ...b };
  for (const keyword of Object.keys(b)) {
    if (!Object.hasOwn(a, keyword)) continue;
    const rule = rules[keyword];
    if (rule) merged[keyword] = rule(a[keyword], b[keyword], merge);
  }
  if (Array.isArray(merged.type) && merged.type.length === 0) return false;
  if (Array.isArray(merged.enum) && merged.enum.length === 0) return false;
  mergeItems(merged, a, b, merge);
  mergeProperties(merged, a, b, merge);
  // Names of a pattern that the other schema has no room for. How else patterns meet in a name is checked afterwards.
  if ([a, b].some((one) => one.patternProperties === undefined && one.additionalProperties === false))
    delete merged.patternProperties;
  return merged;
}

type Rule = (a: unknown, b: unknown, merge: Merge) => unknown;

const greater: Rule = (a, b) => Math.max(a as number, b as number);
const smaller: Rule = (a, b) => Math.min(a as number, b as number);
const both: Rule = (a, b, merge) => merge(a as Schema, b as Schema);
/** Only what we merged ourselves is ever a list here: a schema's own value was checked. */
const together: Rule = (a, b) => [...new Set([a, b].flat())];
const everyPair: Rule = (a, b, merge) => {
  const [left, right] = [a as Schema[], b as Schema[]];
  if (left.length * right.length > maxBranches) throw tooManyBranches();
  return left.flatMap((x) => right.map((y) => merge(x, y)));
};

/** How a keyword that stands in both schemas is held. */
const rules: Record<string, Rule> = {
  type: (a, b) => commonTypes(a, b),
  enum: (a, b) => (a as unknown[]).filter((x) => (b as unknown[]).some((y) => isSame(x, y))),
  required: (a, b) => [...new Set([...(a as string[]), ...(b as string[])])],
  minimum: greater,
  exclusiveMinimum: greater,
  minLength: greater,
  minItems: greater,
  maximum: smaller,
  exclusiveMaximum: smaller,
  maxLength: smaller,
  maxItems: smaller,
  minProperties: greater,
  maxProperties: smaller,
  uniqueItems: (a, b) => a === true || b === true,
  propertyNames: both,
  patternProperties: (a, b) => ({ ...(a as object), ...(b as object) }),
  pattern: together,
  format: together,
  multipleOf: together,
  anyOf: everyPair,
  oneOf: everyPair,
};

/** A whole number is a number. */
function commonTypes(a: unknown, b: unknown): string[] {
  const [left, right] = [[a].flat(), [b].flat()] as [string[], string[]];
  const isOf = (types: string[]) => (type: string) =>
    types.includes(type) || (type === 'integer' && types.includes('number'));
  return [...new Set([...left.filter(isOf(right)), ...right.filter(isOf(left))])];
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
  if (a.additionalProperties !== undefined && b.additionalProperties !== undefined) {
    merged.additionalProperties = merge(a.additionalProperties as Schema, b.additionalProperties as Schema);
  }
}

function propertiesOf(schema: SchemaObject): Map<string, Schema> {
  return new Map(Object.entries((schema.properties as Record<string, Schema> | undefined) ?? {}));
}
