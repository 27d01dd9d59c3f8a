import { type Json, plainCharacters } from './any-value.ts';
import type { Alternative, CharRange, Element, GrammarBuilder } from './grammar.ts';
import { intersection, lastCodePoint } from './regular/ranges.ts';

/**
 * A quoted name that is none of `names`. Spelled without escapes, so that no name has two spellings.
 */
export function otherName(b: GrammarBuilder, json: Json, names: readonly string[]): Element {
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
