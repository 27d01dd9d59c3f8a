import { escaped } from '../../../base/json-pointer.ts';
import { type Json, plainCharacters } from './any-value.ts';
import type { Conversion } from './conversion.ts';
import type { Alternative, CharRange, Element, GrammarBuilder } from './grammar.ts';
import type { Schema, SchemaObject } from './keywords.ts';
import { mergeSchemas } from './merge.ts';
import { intersection, lastCodePoint } from './regular/ranges.ts';
import { stringRule } from './string-rule.ts';

interface Others {
  schema: SchemaObject;
  /** Those that the schema spells out. */
  names: readonly string[];
  pointer: string;
  /** Whether members beyond the named ones must be possible, though nothing is said about them. */
  isAsked: boolean;
}

/** A member whose name the schema does not spell out, or undefined when there is none. */
export function otherMembers(conversion: Conversion, others: Others): Element | undefined {
  const { b, json, convert, walk, unheld } = conversion;
  const { schema, names, pointer, isAsked } = others;
  const patterns = Object.entries((schema.patternProperties ?? {}) as Record<string, Schema>);
  const allowed = (schema.propertyNames ?? true) as Schema;
  const additional = schema.additionalProperties ?? (isAsked || names.length + patterns.length === 0);

  /** A name that all of `said` holds for. */
  const nameOf = (said: SchemaObject): Element => {
    const name = mergeSchemas({ type: 'string', ...said }, allowed, walk(pointer));
    return convert(name, `${pointer}/propertyNames`);
  };
  const member = (name: Element, value: unknown, at: string): Alternative => [
    name,
    ...b.literal(':'),
    convert(value, `${pointer}/${at}`),
  ];

  const nameLike = (pattern: string): Element => {
    if (allowed !== true) return nameOf({ pattern });
    const unheldName = (_at: string, _keyword: string, why: string): void =>
      unheld(`${pointer}/patternProperties`, escaped(pattern), why);
    return stringRule({ ...conversion, unheld: unheldName }, { pattern }, pointer);
  };
  const alternatives = patterns.map(([pattern, value]) =>
    member(nameLike(pattern), value, `patternProperties/${escaped(pattern)}`),
  );
  if (additional !== false) {
    const name = allowed === true ? otherName(b, json, names) : nameOf({});
    alternatives.push(member(name, additional, 'additionalProperties'));
  }
  return alternatives.length === 0 ? undefined : b.rule(alternatives);
}

/**
 * A quoted name that is none of `names`. Spelled without escapes, so that no name has two spellings.
 */
function otherName(b: GrammarBuilder, json: Json, names: readonly string[]): Element {
  const quote = b.literal('"');
  if (names.length === 0) return json.string;
  const anyRest = b.repeat([b.chars(...plainCharacters)], 0, Infinity);

  /** The rest of a name that so far agrees with the start of all `rests`. */
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
