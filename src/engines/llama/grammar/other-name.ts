import type { Json } from './any-value.ts';
import type { Alternative, Element, GrammarBuilder } from './grammar.ts';

/**
 * A quoted name that is none of `names`. Spelled without escapes, so that no name has two spellings.
 */
export function otherName(b: GrammarBuilder, json: Json, names: readonly string[]): Element {
  const quote = b.literal('"');
  if (names.length === 0) return json.string;
  const free: [number, number][] = [
    [0x20, 0x21],
    [0x23, 0x5b],
    [0x5d, 0x7e],
    [0xa0, 0xd7ff],
    [0xe000, 0xfffc],
    [0x10000, 0x10ffff],
  ];
  const anyRest = b.repeat([b.chars(...free)], 0, Infinity);

  /** The rest of a name that so far agrees with the start of all `rests`. */
  function differing(rests: readonly string[]): Element {
    const byFirst = Map.groupBy(
      rests.filter((rest) => rest !== ''),
      (rest) => rest.codePointAt(0)!,
    );
    const different = b.chars(...without(free, [...byFirst.keys()]));
    const alternatives: Alternative[] = [[different, anyRest]];
    if (!rests.includes('')) alternatives.push([]);
    for (const [codePoint, same] of byFirst) {
      if (!free.some(([low, high]) => codePoint >= low && codePoint <= high)) continue;
      const letter = String.fromCodePoint(codePoint);
      alternatives.push([...b.literal(letter), differing(same.map((rest) => rest.slice(letter.length)))]);
    }
    return b.rule(alternatives);
  }

  return b.rule([[...quote, differing(names), ...quote]]);
}

function without(ranges: readonly [number, number][], codePoints: readonly number[]): [number, number][] {
  let left = [...ranges];
  for (const codePoint of codePoints) {
    left = left.flatMap(([low, high]): [number, number][] => {
      if (codePoint < low || codePoint > high) return [[low, high]];
      const parts: [number, number][] = [
        [low, codePoint - 1],
        [codePoint + 1, high],
      ];
      return parts.filter(([from, to]) => from <= to);
    });
  }
  return left;
}
