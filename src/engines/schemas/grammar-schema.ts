import { isObject } from '../../base/fields.ts';
import { decodeReference, resolvePointer } from '../../base/json-pointer.ts';
import {
  type Schema,
  type SchemaObject,
  SchemaTooLarge,
  constrainsBeyond,
  keywords,
  tooManyBranches,
} from './keywords.ts';
import { type Walk, inlined, mergeSchemas, normal } from './merge.ts';
import { plainPattern } from './plain-pattern.ts';
import { satisfies } from './satisfies.ts';

/** Limits of merging, because the thread serves all clients: visited entries, characters, depth, declared members. */
const budget = { work: 5_000, characters: 131_072, depth: 64, declared: 500 } as const;

/**
 * Rewrites a schema for the grammars of other servers. llama.cpp and xgrammar ignore keywords alongside `anyOf` or `$ref`, accept
 * any value for `allOf`, and need required names to be declared; they reject some keywords and read others differently. The
 * result merges what they would ignore and omits what they cannot enforce. Every valid value stays valid, except for strings
 * under a pattern (`plainPattern`). The answer is checked against the original schema.
 * @param root a checked schema
 * @param maxRepeats items, members and characters that the grammars can count
 */
export function grammarSchema(root: Schema, maxRepeats: number): Schema {
  try {
    return rewritten(root, maxRepeats, true);
  } catch (error) {
    if (!(error instanceof SchemaTooLarge)) throw error;
    return rewritten(root, maxRepeats, false);
  }
}

function rewritten(root: Schema, maxRepeats: number, isMerging: boolean): Schema {
  let work = 0;
  let characters = 0;
  const known = new Map<SchemaObject, Schema>();
  const spend = (cost: number): void => {
    if (isMerging && (work += cost) > budget.work) throw tooManyBranches();
  };
  const walk: Walk = {
    resolve: (reference) => resolvePointer(root, decodeReference(reference)) as Schema,
    step: () => spend(1),
    spend,
  };

  /** Counts the characters of copies, made alongside a union or for a reference. */
  function grow(schema: Schema, copies: number): void {
    if ((characters += JSON.stringify(schema).length * copies) > budget.characters) throw tooManyBranches();
  }

  function rewrite(schema: Schema, depth: number): Schema {
    if (typeof schema === 'boolean') return schema;
    spend(1);
    if (isMerging && depth > budget.depth) throw tooManyBranches();
    const before = known.get(schema);
    if (before !== undefined) return before;
    const single = simplified(schema);
    const own = isMerging && needsInlining(single) ? inlined(single, walk) : single;
    if (own !== single) grow(own, 1);
    const result = typeof own === 'boolean' ? own : withUnion(own, depth);
    known.set(schema, result);
    return result;
  }

  /** Merges the other keywords, another union among them, into the branches of one union. */
  function withUnion(own: SchemaObject, depth: number): Schema {
    const keyword = own['anyOf'] !== undefined ? 'anyOf' : 'oneOf';
    const union = own[keyword] as Schema[] | undefined;
    if (!union) return withParts(enforceable(own, maxRepeats), depth);
    const { [keyword]: _, ...rest } = own;
    const { constraints, annotations } = separate(rest);
    const isAlone = Object.keys(constraints).length === 0;
    if (!isAlone && !isMerging) return withParts(enforceable({ ...rest, anyOf: union }, maxRepeats), depth);
    if (!isAlone) grow(constraints, union.length);
    const merged = isAlone ? union : union.map((branch) => mergeSchemas(constraints, branch, walk));
    const branches = merged.filter((branch) => branch !== false);
    if (branches.length === 0) return false;
    return withParts({ ...annotations, anyOf: branches }, depth);
  }

  /** Rewrites the schemas inside. */
  function withParts(own: SchemaObject, depth: number): SchemaObject {
    const inner = (schema: unknown): Schema => rewrite(schema as Schema, depth + 1);
    const result = { ...own };
    for (const keyword of nested) if (isObject(own[keyword])) result[keyword] = inner(own[keyword]);
    for (const keyword of ['anyOf', 'prefixItems'])
      if (own[keyword] !== undefined) result[keyword] = (own[keyword] as Schema[]).map(inner);
    for (const keyword of ['properties', '$defs', 'definitions'])
      if (isObject(own[keyword]))
        result[keyword] = Object.fromEntries(
          Object.entries(own[keyword]).map(([name, each]) => [name, inner(each)]),
        );
    return result;
  }

  return rewrite(root, 0);
}

/** Replaces an `allOf` of one schema without other constraints by that schema, and a list of `items` by `prefixItems`. */
function simplified(schema: SchemaObject): SchemaObject {
  const { allOf, ...rest } = schema;
  const [only] = Array.isArray(allOf) && allOf.length === 1 ? (allOf as Schema[]) : [];
  if (isObject(only) && !constrainsBeyond(rest, [])) return simplified({ ...rest, ...only });
  return Array.isArray(schema['items']) ? normal(schema) : schema;
}

function needsInlining(schema: SchemaObject): boolean {
  const { allOf, $ref } = schema;
  return allOf !== undefined || ($ref !== undefined && constrainsBeyond(schema, ['$ref']));
}

/** Separates the constraints of a schema from its other members. */
function separate(schema: SchemaObject): { constraints: SchemaObject; annotations: SchemaObject } {
  const isConstraint = ([keyword]: [string, unknown]) =>
    keywords.has(keyword) && keyword !== '$defs' && keyword !== 'definitions';
  const entries = Object.entries(schema);
  return {
    constraints: Object.fromEntries(entries.filter(isConstraint)),
    annotations: Object.fromEntries(entries.filter((entry) => !isConstraint(entry))),
  };
}

/** Keywords whose value is a schema. */
const nested = 'items additionalProperties propertyNames unevaluatedProperties unevaluatedItems'.split(' ');

/** Keywords that no grammar enforces, and some reject. */
const unenforceable =
  'not if then else contains minContains maxContains uniqueItems dependentRequired dependentSchemas dependencies'.split(
    ' ',
  );

/** Formats that grammars enforce. Some grammars reject others, which have no effect. */
const formats = new Set('date time date-time duration uuid ipv4 ipv6 hostname email uri'.split(' '));

function enforceable(own: SchemaObject, maxRepeats: number): SchemaObject {
  const schema = { ...own };
  for (const keyword of unenforceable) delete schema[keyword];
  if (Array.isArray(schema['enum'])) {
    const values = schema['enum'].filter((value) => satisfies(value, schema));
    if (values.length > 0) schema['enum'] = values;
  }
  // Merging makes lists of these keywords, of which one value can be enforced.
  set(schema, 'pattern', ([one]) => plainPattern(one as string));
  set(schema, 'format', (all) => all.find((one) => formats.has(one as string)) ?? null);
  set(schema, 'multipleOf', ([one]) => one);
  for (const what of ['Items', 'Properties', 'Length']) {
    set(schema, `min${what}`, ([least]) => Math.min(least as number, maxRepeats));
    set(schema, `max${what}`, ([most]) => ((most as number) > maxRepeats ? null : most));
  }
  return withMembers(schema);
}

/** Replaces the values of a keyword by a new value; null removes the keyword. */
function set(schema: SchemaObject, keyword: string, made: (values: unknown[]) => unknown): void {
  if (schema[keyword] === undefined) return;
  const value = made([schema[keyword]].flat());
  if (value === null) delete schema[keyword];
  else schema[keyword] = value;
}

/** Rewrites members: declares every required one, forbids none by name, and makes those of patterns additional ones. */
function withMembers({ patternProperties, ...schema }: SchemaObject): SchemaObject {
  const additional = schema['additionalProperties'];
  if (isObject(patternProperties) && additional !== undefined && additional !== true) {
    const values = [...Object.values(patternProperties), ...(additional === false ? [] : [additional])];
    schema['additionalProperties'] = values.length === 1 ? values[0] : { anyOf: values };
  }
  const properties = schema['properties'] as Record<string, Schema> | undefined;
  const required = (schema['required'] as string[] | undefined) ?? [];
  const undeclared = required.filter((name) => !properties || !Object.hasOwn(properties, name));
  const other = isObject(patternProperties) ? {} : (additional ?? {});
  const declared =
    other === false || undeclared.length > budget.declared
      ? []
      : undeclared.map((name) => [name, other === true ? {} : other] as const);
  const kept = Object.entries(properties ?? {}).filter(
    ([name, value]) => value !== false || required.includes(name),
  );
  if (properties || declared.length > 0) schema['properties'] = Object.fromEntries([...kept, ...declared]);
  return schema;
}
