import { type Json, plainCharacters } from './any-value.ts';
import { type Conversion, counts } from './conversion.ts';
import type { Alternative, CharRange, Element, GrammarBuilder } from './grammar.ts';
import type { Schema, SchemaObject } from '../../schemas/keywords.ts';
import { mergeSchemas } from '../../schemas/merge.ts';
import { intersection, lastCodePoint } from './regular/ranges.ts';

/**
 * Members in the order of `properties`, each at most once, then members with other names as far as `additionalProperties`
 * and `patternProperties` allow them. Their number is enforced if the schema names no member; else only that there is one.
 */
export function objectRule(conversion: Conversion, schema: SchemaObject): Element {
  const { b, convert } = conversion;
  const [least, most] = counts(schema, 'Properties');
  if (most < least) return b.rule([]);
  const [open, close, comma] = [b.literal('{'), b.literal('}'), b.literal(',')];
  if (most === 0) return b.rule([[...open, ...close]]);
  const members = membersOf(schema);
  const required = new Set(schema.required as string[] | undefined);
  const others = otherMembers(conversion, schema, Object.keys(members));
  const [fewest, all] = Object.keys(members).length === 0 ? [least, most] : [0, Infinity];
  // Continuations after a member, and before the first one: built from the last member to the first.
  let behind = others ? b.repeat([...comma, others], Math.max(0, fewest - 1), all - 1) : b.rule([[]]);
  let first = b.rule([...(least === 0 ? [[]] : []), ...(others ? [[others, behind]] : [])]);
  for (const [name, value] of Object.entries(members).toReversed()) {
    const member = b.rule([[...b.literal(`${JSON.stringify(name)}:`), convert(value)]]);
    const orSkipped = (rest: Element) => (required.has(name) ? [] : [[rest]]);
    first = b.rule([[member, behind], ...orSkipped(first)]);
    behind = b.rule([[...comma, member, behind], ...orSkipped(behind)]);
  }
  return b.rule([[...open, first, ...close]]);
}

/** Schemas of the members that the schema names. */
function membersOf(schema: SchemaObject): Record<string, Schema | undefined> {
  const properties = (schema.properties ?? {}) as Record<string, Schema>;
  const unnamed = ((schema.required ?? []) as string[]).filter((name) => !Object.hasOwn(properties, name));
  // A required member without a property is an additional one, or one of a pattern, which the check of the answer covers.
  const isOfPattern = schema.additionalProperties === false && schema.patternProperties !== undefined;
  const value = isOfPattern ? true : (schema.additionalProperties as Schema | undefined);
  return { ...properties, ...Object.fromEntries(unnamed.map((name) => [name, value])) };
}

/**
 * Member with a name other than `names`; undefined if the schema allows none. Without a rule for other members, they come only
 * if the named ones are too few.
 */
function otherMembers(
  { b, json, convert, walk }: Conversion,
  schema: SchemaObject,
  names: readonly string[],
): Element | undefined {
  const patterns = Object.entries((schema.patternProperties ?? {}) as Record<string, Schema>);
  const allowed = (schema.propertyNames ?? true) as Schema;
  const isAsked = ((schema.minProperties as number | undefined) ?? 0) > names.length;
  const additional = (schema.additionalProperties ??
    (isAsked || names.length + patterns.length === 0)) as Schema;
  const nameOf = (schemaOfName: SchemaObject) =>
    convert(mergeSchemas({ type: 'string', ...schemaOfName }, allowed, walk));
  const member = (name: Element, value: Schema) => b.sequence(name, ':', convert(value));
  const alternatives = patterns.map(([pattern, value]) => member(nameOf({ pattern }), value));
  if (additional !== false)
    alternatives.push(member(allowed === true ? otherName(b, json, names) : nameOf({}), additional));
  return alternatives.length === 0 ? undefined : b.rule(alternatives);
}

/** Quoted name other than `names`, without escapes, so that each name has one spelling. */
function otherName(b: GrammarBuilder, json: Json, names: readonly string[]): Element {
  const quote = b.literal('"');
  if (names.length === 0) return json.string;
  const anyRest = b.repeat([b.chars(...plainCharacters)], 0, Infinity);

  /** Rest of a name that has the prefix of all `rests`, and differs from them. */
  function differing(rests: readonly string[]): Element {
    const byFirst = Map.groupBy(
      rests.filter((rest) => rest !== ''),
      (rest) => rest.codePointAt(0)!,
    );
    const different = b.chars(...intersection(plainCharacters, allBut([...byFirst.keys()])));
    const alternatives: Alternative[] = [[different, anyRest]];
    if (!rests.includes('')) alternatives.push([]);
    for (const [codePoint, same] of byFirst) {
      if (!plainCharacters.some(([low, high]) => codePoint >= low && codePoint <= high)) continue;
      const letter = String.fromCodePoint(codePoint);
      alternatives.push([...b.literal(letter), differing(same.map((rest) => rest.slice(letter.length)))]);
    }
    return b.rule(alternatives);
  }

  return b.rule([[...quote, differing(names), ...quote]]);
}

function allBut(codePoints: readonly number[]): CharRange[] {
  const sorted = codePoints.toSorted((a, b) => a - b);
  return [-1, ...sorted].map((before, i) => [before + 1, (sorted[i] ?? lastCodePoint + 1) - 1]);
}
