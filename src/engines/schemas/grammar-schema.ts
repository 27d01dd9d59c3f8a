import { isObject } from '../../base/fields.ts';
import { decodeReference, resolvePointer } from '../../base/json-pointer.ts';
import { type Schema, type SchemaObject, constrainsBeyond, keywords } from './keywords.ts';
import { type Walk, inlined, mergeSchemas, normal } from './merge.ts';
import { plainPattern } from './plain-pattern.ts';
import { satisfies } from './satisfies.ts';
import { SchemaTooLarge, tooManyBranches } from './too-large.ts';

/** Limits of merging schemas, because the thread serves all clients: visited entries, and characters. */
const budget = { work: 5_000, characters: 131_072, depth: 64, declared: 500 } as const;

/**
 * A schema as the grammars of other programs hold it. llama.cpp and xgrammar drop what stands beside `anyOf` or `$ref`, take
 * any value for `allOf`, and need required names to be declared; some keywords they refuse, or hold in another sense. What they
 * would drop is put together, what they cannot hold is left out: whatever is valid under the schema stays valid, but for strings
 * under a pattern (`plainPattern`), and the answer is checked against the schema itself.
 * @param root one that passed the gate
 * @param mostRepeats items, members and characters that the grammars can count
 */
export function grammarSchema(root: Schema, mostRepeats: number): Schema {
  try {
    return rewritten(root, mostRepeats, true);
  } catch (error) {
    if (!(error instanceof SchemaTooLarge)) throw error;
    return rewritten(root, mostRepeats, false);
  }
}

function rewritten(root: Schema, mostRepeats: number, isMerging: boolean): Schema {
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

  /** Copies of what stands beside a union or behind a reference. */
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

  /** One union at a time: another one beside it goes into its branches. */
  function withUnion(own: SchemaObject, depth: number): Schema {
    const keyword = own['anyOf'] !== undefined ? 'anyOf' : 'oneOf';
    const union = own[keyword] as Schema[] | undefined;
    if (!union) return withParts(held(own, mostRepeats), depth);
    const { [keyword]: _, ...rest } = own;
    const { asked, beside } = sorted(rest);
    const isAlone = Object.keys(asked).length === 0;
    if (!isAlone && !isMerging) return withParts(held({ ...rest, anyOf: union }, mostRepeats), depth);
    if (!isAlone) grow(asked, union.length);
    const merged = isAlone ? union : union.map((branch) => mergeSchemas(asked, branch, walk));
    const branches = merged.filter((branch) => branch !== false);
    if (branches.length === 0) return false;
    return withParts({ ...beside, anyOf: branches }, depth);
  }

  /** With the schemas inside as they are held. */
  function withParts(own: SchemaObject, depth: number): SchemaObject {
    const inner = (schema: unknown): Schema => rewrite(schema as Schema, depth + 1);
    const result = { ...own };
    for (const keyword of [
      'items',
      'additionalProperties',
      'propertyNames',
      'unevaluatedProperties',
      'unevaluatedItems',
    ])
      if (isObject(own[keyword])) result[keyword] = inner(own[keyword]);
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

/** A reference alone, where nothing but notes stands beside it; a list of `items` as `prefixItems`. */
function simplified(schema: SchemaObject): SchemaObject {
  const { allOf, ...rest } = schema;
  const [only] = Array.isArray(allOf) && allOf.length === 1 ? (allOf as Schema[]) : [];
  if (isObject(only) && !constrainsBeyond(rest, [])) return simplified({ ...rest, ...only });
  return Array.isArray(schema['items']) ? normal(schema) : schema;
}

function needsInlining(schema: SchemaObject): boolean {
  return (
    schema['allOf'] !== undefined || (schema['$ref'] !== undefined && constrainsBeyond(schema, ['$ref']))
  );
}

/** The constraints of a schema, and its other members. */
function sorted(schema: SchemaObject): { asked: SchemaObject; beside: SchemaObject } {
  const isAsked = ([keyword]: [string, unknown]) =>
    keywords.has(keyword) && keyword !== '$defs' && keyword !== 'definitions';
  const entries = Object.entries(schema);
  return {
    asked: Object.fromEntries(entries.filter(isAsked)),
    beside: Object.fromEntries(entries.filter((entry) => !isAsked(entry))),
  };
}

/** Keywords that no grammar enforces, and some refuse. */
const unheld =
  'not if then else contains minContains maxContains uniqueItems dependentRequired dependentSchemas dependencies'.split(
    ' ',
  );

/** Formats that grammars know. Some refuse others, which ask for nothing. */
const formats = new Set('date time date-time duration uuid ipv4 ipv6 hostname email uri'.split(' '));

function held(own: SchemaObject, mostRepeats: number): SchemaObject {
  const schema = { ...own };
  for (const keyword of unheld) delete schema[keyword];
  if (Array.isArray(schema['enum'])) {
    const values = schema['enum'].filter((value) => satisfies(value, schema));
    if (values.length > 0) schema['enum'] = values;
  }
  // Merging makes lists of these, of which one can be held.
  set(schema, 'pattern', ([one]) => plainPattern(one as string));
  set(schema, 'format', (all) => all.find((one) => formats.has(one as string)) ?? null);
  set(schema, 'multipleOf', ([one]) => one);
  for (const what of ['Items', 'Properties', 'Length']) {
    set(schema, `min${what}`, ([least]) => Math.min(least as number, mostRepeats));
    set(schema, `max${what}`, ([most]) => ((most as number) > mostRepeats ? null : most));
  }
  return withMembers(schema);
}

/** Changes a keyword, if it is there, to what is made of its values; null takes it out. */
function set(schema: SchemaObject, keyword: string, made: (values: unknown[]) => unknown): void {
  if (schema[keyword] === undefined) return;
  const value = made([schema[keyword]].flat());
  if (value === null) delete schema[keyword];
  else schema[keyword] = value;
}

/**
 * Members as grammars know them: every required one declared, none forbidden by name, and those that patterns speak of as
 * additional ones.
 */
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
