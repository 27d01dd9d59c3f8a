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
export class TooManyBranches extends Error {
  constructor() {
    super('The combinations of the branches are too many.');
    this.name = 'TooManyBranches';
  }
}

const maxBranches = 256;
const maxDepth = 32;

/**
 * One schema that holds exactly where both do. Unions multiply; a schema that refers to
 * itself through allOf throws `TooManyBranches`.
 */
export function mergeSchemas(left: Schema, right: Schema, walk: Walk, depth = 0): Schema {
  walk.step();
  if (depth > maxDepth) throw new TooManyBranches();
  if (left === true) return right;
  if (right === true) return left;
  if (left === false || right === false) return false;
  const merge = (a: Schema, b: Schema): Schema => mergeSchemas(a, b, walk, depth + 1);
  const inline = (schema: SchemaObject): Schema => {
    const { $ref, allOf, ...rest } = schema;
    const parts = [
      ...(typeof $ref === 'string' ? [walk.resolve($ref)] : []),
      ...((allOf as Schema[] | undefined) ?? []),
    ];
    return parts.length === 0 ? schema : parts.reduce<Schema>(merge, rest);
  };
  const a = inline(left);
  const b = inline(right);
  if (typeof a === 'boolean' || typeof b === 'boolean') return merge(a, b);
  return mergeObjects(a, b, merge);
}

function mergeObjects(a: SchemaObject, b: SchemaObject, merge: (a: Schema, b: Schema) => Schema): Schema {
  const merged: SchemaObject = { ...a, ...b };
  for (const keyword of Object.keys(b)) {
    if (!Object.hasOwn(a, keyword)) continue;
    const rule = rules[keyword];
    if (rule) merged[keyword] = rule(a[keyword], b[keyword], merge);
  }
  if (Array.isArray(merged.type) && merged.type.length === 0) return false;
  if (Array.isArray(merged.enum) && merged.enum.length === 0) return false;
  if (Object.hasOwn(a, 'const') && Object.hasOwn(b, 'const') && !sameJson(a.const, b.const)) return false;
  mergeProperties(merged, a, b, merge);
  return merged;
}

type Rule = (a: unknown, b: unknown, merge: (a: Schema, b: Schema) => Schema) => unknown;

const greater: Rule = (a, b) => Math.max(a as number, b as number);
const smaller: Rule = (a, b) => Math.min(a as number, b as number);
const both: Rule = (a, b, merge) => merge(a as Schema, b as Schema);
const everyPair: Rule = (a, b, merge) => {
  const [left, right] = [a as Schema[], b as Schema[]];
  if (left.length * right.length > maxBranches) throw new TooManyBranches();
  return left.flatMap((x) => right.map((y) => merge(x, y)));
};

/** How a keyword that stands in both schemas is held. */
const rules: Record<string, Rule> = {
  type: (a, b) => commonTypes(a, b),
  enum: (a, b) => (a as unknown[]).filter((x) => (b as unknown[]).some((y) => sameJson(x, y))),
  required: (a, b) => [...new Set([...(a as string[]), ...(b as string[])])],
  minimum: greater,
  exclusiveMinimum: greater,
  minLength: greater,
  minItems: greater,
  maximum: smaller,
  exclusiveMaximum: smaller,
  maxLength: smaller,
  maxItems: smaller,
  items: both,
  anyOf: everyPair,
  oneOf: everyPair,
};

function commonTypes(a: unknown, b: unknown): string[] {
  const [left, right] = [[a].flat(), [b].flat()] as string[][];
  const common = new Set<string>();
  for (const x of left!) {
    for (const y of right!) {
      if (x === y) common.add(x);
      else if (x === 'integer' && y === 'number') common.add(x);
      else if (x === 'number' && y === 'integer') common.add(y);
    }
  }
  return [...common];
}

/** A property of one schema that the other does not name falls under the other's additionalProperties. */
function mergeProperties(
  merged: SchemaObject,
  a: SchemaObject,
  b: SchemaObject,
  merge: (a: Schema, b: Schema) => Schema,
): void {
  if (a.properties !== undefined || b.properties !== undefined) {
    const left = new Map(Object.entries((a.properties as Record<string, Schema> | undefined) ?? {}));
    const right = new Map(Object.entries((b.properties as Record<string, Schema> | undefined) ?? {}));
    const others = (schema: SchemaObject): Schema =>
      (schema.additionalProperties as Schema | undefined) ?? true;
    merged.properties = Object.fromEntries(
      [...new Set([...left.keys(), ...right.keys()])].map((name) => [
        name,
        merge(left.get(name) ?? others(a), right.get(name) ?? others(b)),
      ]),
    );
  }
  if (a.additionalProperties !== undefined && b.additionalProperties !== undefined) {
    merged.additionalProperties = merge(a.additionalProperties as Schema, b.additionalProperties as Schema);
  }
}

/** Whether two JSON values are equal; the order of members does not matter. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [left, right] = [Object.entries(a), new Map(Object.entries(b))];
  return (
    left.length === right.size &&
    left.every(([key, value]) => right.has(key) && sameJson(value, right.get(key)))
  );
}
