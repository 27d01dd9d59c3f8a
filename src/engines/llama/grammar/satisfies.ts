import { type Schema, type SchemaObject, type Walk, sameJson } from './merge.ts';
import type { Strings } from './regular/strings.ts';

/**
 * Whether a fixed value (of `const` or `enum`) satisfies the schema it stands in. Patterns and formats
 * that cannot be followed are not looked at.
 */
export function satisfies(value: unknown, schema: Schema, walk: Walk, strings: Strings, depth = 0): boolean {
  walk.step();
  if (typeof schema === 'boolean') return schema;
  // A schema that refers to itself without looking at a part of the value has nothing to say.
  if (depth > 64) return false;
  const holds = (part: unknown, inner: unknown): boolean =>
    satisfies(part, inner as Schema, walk, strings, depth + 1);
  const count = (options: unknown): number =>
    (options as Schema[]).filter((option) => holds(value, option)).length;
  return (
    (schema.$ref === undefined || holds(value, walk.resolve(schema.$ref as string))) &&
    (!Object.hasOwn(schema, 'const') || sameJson(value, schema.const)) &&
    (schema.enum === undefined || (schema.enum as unknown[]).some((one) => sameJson(value, one))) &&
    (schema.anyOf === undefined || count(schema.anyOf) > 0) &&
    (schema.oneOf === undefined || count(schema.oneOf) === 1) &&
    (schema.allOf === undefined || count(schema.allOf) === (schema.allOf as Schema[]).length) &&
    (schema.not === undefined || !holds(value, schema.not)) &&
    (schema.if === undefined ||
      holds(value, (holds(value, schema.if) ? schema.then : schema.else) ?? true)) &&
    hasType(value, schema.type) &&
    isWithin(value, schema) &&
    textHolds(value, schema, strings) &&
    itemsHold(value, schema, holds) &&
    membersHold(value, schema, holds, strings)
  );
}

type Holds = (part: unknown, schema: unknown) => boolean;

function hasType(value: unknown, type: unknown): boolean {
  if (type === undefined) return true;
  const types = [type].flat() as string[];
  return types.includes(typeOf(value)) || (types.includes('integer') && Number.isInteger(value));
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function isWithin(value: unknown, schema: SchemaObject): boolean {
  if (typeof value === 'number') {
    return (
      value >= limit(schema.minimum, -Infinity) &&
      value <= limit(schema.maximum, Infinity) &&
      value > limit(schema.exclusiveMinimum, -Infinity) &&
      value < limit(schema.exclusiveMaximum, Infinity) &&
      ([schema.multipleOf ?? []].flat() as number[]).every((step) => Number.isInteger(value / step))
    );
  }
  const [size, what] = sizeOf(value);
  return size >= limit(schema[`min${what}`], 0) && size <= limit(schema[`max${what}`], Infinity);
}

function sizeOf(value: unknown): [number, string] {
  if (typeof value === 'string') return [Array.from(value).length, 'Length'];
  if (Array.isArray(value)) return [value.length, 'Items'];
  return typeof value === 'object' && value !== null ? [Object.keys(value).length, 'Properties'] : [0, ''];
}

function limit(bound: unknown, otherwise: number): number {
  return typeof bound === 'number' ? bound : otherwise;
}

function textHolds(value: unknown, schema: SchemaObject, strings: Strings): boolean {
  if (typeof value !== 'string') return true;
  const matchesFormat = (format: string): boolean => {
    const language = strings.ofFormat(format);
    return !language || strings.matches(language, value);
  };
  return (
    ([schema.pattern ?? []].flat() as string[]).every((pattern) => matchesPattern(value, pattern, strings)) &&
    ([schema.format ?? []].flat() as string[]).every(matchesFormat)
  );
}

function matchesPattern(text: string, pattern: string, strings: Strings): boolean {
  const language = strings.ofPattern(pattern);
  return !('kind' in language) || strings.matches(language, text);
}

function itemsHold(value: unknown, schema: SchemaObject, holds: Holds): boolean {
  if (!Array.isArray(value)) return true;
  const isTuple = Array.isArray(schema.items);
  const places = ((isTuple ? schema.items : schema.prefixItems) ?? []) as unknown[];
  const others = (isTuple ? schema.additionalItems : schema.items) ?? true;
  const isUnique =
    schema.uniqueItems !== true ||
    value.every((item, i) => !value.slice(0, i).some((before) => sameJson(item, before)));
  return (
    isUnique &&
    value.every((item, i) => holds(item, places[i] ?? others)) &&
    ([schema.contains ?? []].flat() as unknown[]).every((wanted) => {
      const found = value.filter((item) => holds(item, wanted)).length;
      return found >= limit(schema.minContains, 1) && found <= limit(schema.maxContains, Infinity);
    })
  );
}

function membersHold(value: unknown, schema: SchemaObject, holds: Holds, strings: Strings): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return true;
  const maps = (keyword: string): Record<string, unknown> =>
    (schema[keyword] as Record<string, unknown> | undefined) ?? {};
  const properties = maps('properties');
  const patterns = Object.entries(maps('patternProperties'));
  const required = (schema.required as string[] | undefined) ?? [];
  const needs = [maps('dependentRequired'), maps('dependentSchemas'), maps('dependencies')].flatMap((map) =>
    Object.entries(map),
  );
  const memberHolds = ([name, member]: [string, unknown]): boolean => {
    const matching = patterns.filter(([pattern]) => matchesPattern(name, pattern, strings));
    const isNamed = Object.hasOwn(properties, name);
    const isOther = !isNamed && matching.length === 0;
    return (
      holds(name, schema.propertyNames ?? true) &&
      (!isNamed || holds(member, properties[name])) &&
      matching.every(([, inner]) => holds(member, inner)) &&
      (!isOther || holds(member, schema.additionalProperties ?? true))
    );
  };
  return (
    required.every((name) => Object.hasOwn(value, name)) &&
    Object.entries(value).every(memberHolds) &&
    needs
      .filter(([name]) => Object.hasOwn(value, name))
      .every(([, needed]) =>
        Array.isArray(needed)
          ? (needed as string[]).every((name) => Object.hasOwn(value, name))
          : holds(value, needed),
      )
  );
}
