import { isDeepStrictEqual } from 'node:util';

/** A JSON Schema: an object of keywords, or true (anything) or false (nothing). */
export type Schema = boolean | SchemaObject;
export type SchemaObject = Record<string, unknown>;

/** A keyword of drafts 7 to 2020-12. */
interface Keyword {
  /** Degree of enforcement by grammar, named as in `docs/structured-output.md`. */
  hold: 'always' | 'mostly' | 'checked' | 'never';
  /** Type that the keyword implies for a schema without `type`. */
  about?: 'object' | 'array' | 'string' | 'number';
  /** Combines the values of two schemas; without it, the second value wins. */
  merge?: Rule;
}

type Rule = (a: unknown, b: unknown, merge: Merge) => unknown;
export type Merge = (a: Schema, b: Schema) => Schema;

/** The schema exceeds the limits of processing. The message is the end of a sentence. */
export class SchemaTooLarge extends Error {}

/** The merge of two schemas would be too large. */
export const tooManyBranches = () => new SchemaTooLarge('the combinations of its branches are too many');

const maxBranches = 256;

const greater: Rule = (a, b) => Math.max(a as number, b as number);
const smaller: Rule = (a, b) => Math.min(a as number, b as number);
const both: Rule = (a, b, merge) => merge(a as Schema, b as Schema);
/** Lists here come from earlier merges, because the values of a schema were checked. */
const all: Rule = (a, b) => [...new Set([a, b].flat())];
const everyPair: Rule = (a, b, merge) => {
  const [left, right] = [a as Schema[], b as Schema[]];
  if (left.length * right.length > maxBranches) throw tooManyBranches();
  return left.flatMap((x) => right.map((y) => merge(x, y)));
};

const either: Rule = (a, b) => a === true || b === true;
const allMembers: Rule = (a, b) => ({ ...(a as object), ...(b as object) });
/** Common types, where an integer is a number. */
const commonTypes: Rule = (a, b) => {
  const [left, right] = [[a].flat(), [b].flat()] as [string[], string[]];
  const isOf = (types: string[]) => (type: string) =>
    types.includes(type) || (type === 'integer' && types.includes('number'));
  return [...new Set([...left.filter(isOf(right)), ...right.filter(isOf(left))])];
};
const commonValues: Rule = (a, b) =>
  (a as unknown[]).filter((x) => (b as unknown[]).some((y) => isSame(x, y)));

/** Deep equality; 0 and -0 are the same number in JSON. */
export function isSame(a: unknown, b: unknown): boolean {
  return a === b || isDeepStrictEqual(a, b);
}

/** All keywords that constrain values. A test compares them with docs/structured-output.md. */
const table: Record<string, Keyword> = {
  type: { hold: 'always', merge: commonTypes },
  enum: { hold: 'always', merge: commonValues },
  const: { hold: 'always' },
  $ref: { hold: 'mostly' },
  $defs: { hold: 'always' },
  definitions: { hold: 'always' },
  anyOf: { hold: 'always', merge: everyPair },
  allOf: { hold: 'mostly' },
  oneOf: { hold: 'checked', merge: everyPair },
  not: { hold: 'checked' },
  if: { hold: 'checked' },
  then: { hold: 'checked' },
  else: { hold: 'checked' },
  properties: { hold: 'always', about: 'object' },
  required: { hold: 'always', about: 'object', merge: all },
  additionalProperties: { hold: 'always', about: 'object' },
  patternProperties: { hold: 'checked', about: 'object', merge: allMembers },
  propertyNames: { hold: 'checked', about: 'object', merge: both },
  minProperties: { hold: 'checked', about: 'object', merge: greater },
  maxProperties: { hold: 'checked', about: 'object', merge: smaller },
  dependentRequired: { hold: 'checked' },
  dependentSchemas: { hold: 'checked' },
  dependencies: { hold: 'checked' },
  unevaluatedProperties: { hold: 'checked' },
  items: { hold: 'always', about: 'array' },
  prefixItems: { hold: 'always', about: 'array' },
  additionalItems: { hold: 'always' },
  minItems: { hold: 'mostly', about: 'array', merge: greater },
  maxItems: { hold: 'mostly', about: 'array', merge: smaller },
  uniqueItems: { hold: 'checked', about: 'array', merge: either },
  contains: { hold: 'checked' },
  minContains: { hold: 'checked' },
  maxContains: { hold: 'checked' },
  unevaluatedItems: { hold: 'checked' },
  minLength: { hold: 'mostly', about: 'string', merge: greater },
  maxLength: { hold: 'mostly', about: 'string', merge: smaller },
  pattern: { hold: 'mostly', about: 'string', merge: all },
  format: { hold: 'mostly', about: 'string', merge: all },
  minimum: { hold: 'mostly', about: 'number', merge: greater },
  maximum: { hold: 'mostly', about: 'number', merge: smaller },
  exclusiveMinimum: { hold: 'mostly', about: 'number', merge: greater },
  exclusiveMaximum: { hold: 'mostly', about: 'number', merge: smaller },
  multipleOf: { hold: 'mostly', about: 'number', merge: all },
  $dynamicRef: { hold: 'never' },
  $recursiveRef: { hold: 'never' },
};
export const keywords: ReadonlyMap<string, Keyword> = new Map(Object.entries(table));

/** True if `schema` has constraints other than the keywords in `except`. */
export function constrainsBeyond(schema: SchemaObject, except: readonly string[]): boolean {
  return Object.keys(schema).some(
    (keyword) =>
      !except.includes(keyword) && keyword !== '$defs' && keyword !== 'definitions' && keywords.has(keyword),
  );
}

/** Type that a schema without `type` implies. Values of other types are valid, but never generated. */
export function impliedType(schema: SchemaObject): string | undefined {
  const present = Object.keys(schema).filter((keyword) => schema[keyword] !== undefined);
  const about = new Set<string | undefined>(present.map((keyword) => keywords.get(keyword)?.about));
  return ['object', 'array', 'string', 'number'].find((type) => about.has(type));
}
