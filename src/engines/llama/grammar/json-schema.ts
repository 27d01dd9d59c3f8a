import { isObject } from '../../../base/fields.ts';
import { decodeReference, resolvePointer } from '../../../base/json-pointer.ts';
import { createJson } from './any-value.ts';
import { type Conversion, counts } from './conversion.ts';
import type { Alternative, Element, GrammarBuilder } from './grammar.ts';
import {
  type Schema,
  type SchemaObject,
  constrainsBeyond,
  impliedType,
  tooManyBranches,
} from '../../schemas/keywords.ts';
import { type Walk, inlined, mergeSchemas, normal } from '../../schemas/merge.ts';
import { numberRule } from './number-rule.ts';
import { objectRule } from './object-rule.ts';
import { createPatterns } from './regular/automaton.ts';
import { satisfies } from '../../schemas/satisfies.ts';
import { stringRule } from './string-rule.ts';

const maxDepth = 128;
/** Schemas visited while branches are combined; nested unions multiply. */
const maxSteps = 20_000;

/**
 * Rule for JSON values without white space that are valid under `root`, as far as a grammar can express it
 * (docs/structured-output.md); the check of the answer covers the rest. Members come in the order of `properties`.
 * @param root a schema whose keywords, references and patterns were checked
 * @throws SchemaTooLarge
 */
export function schemaRule(b: GrammarBuilder, root: unknown): Element {
  const json = createJson(b);
  const any = b.declare();
  const known = new Map<object, Element>();
  let steps = 0;
  let depth = 0;
  const walk: Walk = {
    resolve: (reference) => resolvePointer(root, decodeReference(reference)) as Schema,
    step() {
      if (++steps > maxSteps) throw tooManyBranches();
    },
  };
  const conversion: Conversion = { b, json, languageOf: createPatterns(), convert, walk };
  const ofType: Record<string, (schema: SchemaObject) => Element> = {
    string: (schema) => stringRule(conversion, schema),
    integer: (schema) => numberRule(conversion, 'integer', schema),
    number: (schema) => numberRule(conversion, 'number', schema),
    boolean: () => json.boolean,
    null: () => json.null,
    array: (schema) => arrayRule(conversion, schema),
    object: (schema) => objectRule(conversion, schema),
  };

  function convert(schema: Schema | undefined): Element {
    if (schema === true || schema === undefined) return any.element;
    if (schema === false) return b.rule([]);
    if (depth > maxDepth) throw tooManyBranches();
    const before = known.get(schema);
    if (before) return before;
    // Declared first: a schema may refer to itself.
    const { element, define } = b.declare();
    known.set(schema, element);
    depth++;
    define([[convertObject(schema)]]);
    depth--;
    return element;
  }

  function convertObject(given: SchemaObject): Element {
    const schema = normal(given);
    if (refusesAll(schema.not)) return b.rule([]);
    if (schema.$ref !== undefined && !constrainsBeyond(schema, ['$ref']))
      return convert(walk.resolve(schema.$ref as string));
    if (schema.$ref !== undefined || schema.allOf !== undefined) return convert(inlined(schema, walk));
    if (schema.anyOf !== undefined) return convertUnion('anyOf', schema);
    if (schema.oneOf !== undefined) return convertUnion('oneOf', schema);
    if (schema.enum !== undefined) return fixed(schema);
    const types = [schema.type ?? impliedType(schema)].flat() as (string | undefined)[];
    return either(types.map((type) => ofType[type ?? '']?.(schema) ?? any.element));
  }

  function either(rules: readonly Element[]): Element {
    return rules.length === 1 ? rules[0]! : b.rule(rules.map((rule) => [rule]));
  }

  /** Any branch, also for `oneOf`: the check of the answer makes sure that only one matches. */
  function convertUnion(keyword: 'anyOf' | 'oneOf', schema: SchemaObject): Element {
    const { [keyword]: union, ...rest } = schema;
    const branches = keyword === 'oneOf' ? exclusive(union as Schema[]) : (union as Schema[]);
    const isAlone = !constrainsBeyond(rest, []);
    return either(branches.map((branch) => convert(isAlone ? branch : mergeSchemas(rest, branch, walk))));
  }

  function fixed(schema: SchemaObject): Element {
    const kept = (schema.enum as unknown[]).filter((value) => satisfies(value, schema));
    return b.rule(kept.map((value) => b.literal(JSON.stringify(value))));
  }

  any.define([...json.scalars, [arrayRule(conversion, {})], [objectRule(conversion, {})]]);
  return convert(root as Schema);
}

/** Rule of an array by `prefixItems`, `items`, `minItems` and `maxItems`. */
function arrayRule({ b, convert }: Conversion, schema: SchemaObject): Element {
  const places = (schema.prefixItems ?? []) as Schema[];
  const [min, max] = counts(schema, 'Items');
  if (max < min) return b.rule([]);
  const [open, close] = [b.literal('['), b.literal(']')];
  if (max === 0) return b.rule([[...open, ...close]]);
  const other = convert(schema.items as Schema | undefined);
  // Items with a place of their own; the others follow.
  const count = Math.min(Math.max(1, places.length), max);
  let rest = b.repeat([...b.literal(','), other], Math.max(0, min - count), max - count);
  for (let i = count - 1; i >= 0; i--) {
    const item = i < places.length ? convert(places[i]) : other;
    const here: Alternative = [...(i === 0 ? [] : b.literal(',')), item, rest];
    rest = b.rule(i >= min ? [[], here] : [here]);
  }
  return b.rule([[...open, rest, ...close]]);
}

/** True for a `not` that rejects every value. */
function refusesAll(not: unknown): boolean {
  return not === true || (isObject(not) && !constrainsBeyond(not, []));
}

/** Makes branches that only require members ("one of these two") exclusive: each forbids a member that another requires. */
function exclusive(branches: readonly Schema[]): readonly Schema[] {
  const required = branches.map((branch) =>
    isObject(branch) && !constrainsBeyond(branch, ['required', 'type'])
      ? ((branch.required ?? []) as string[])
      : null,
  );
  return branches.map((branch, i) => {
    const own = required[i];
    if (!isObject(branch) || !own || required.includes(null)) return branch;
    const others = required.flatMap((names) => names!.find((name) => !own.includes(name)) ?? []);
    return { ...branch, properties: Object.fromEntries(others.map((name) => [name, false])) };
  });
}
