import { type Json, plainCharacters } from './any-value.ts';
import type { Conversion } from './conversion.ts';
import type { Alternative, CharRange, Element, GrammarBuilder } from './grammar.ts';
import type { Schema, SchemaObject } from '../../schemas/keywords.ts';
import { mergeSchemas } from '../../schemas/merge.ts';
import { intersection, lastCodePoint } from './regular/ranges.ts';

/**
 * Member with a name other than `names`; undefined if the schema allows none. Without a rule for other members, they come only
 * if the named ones are too few.
 */
export function otherMembers(
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
