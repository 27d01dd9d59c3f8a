import type { Alternative, Element, GrammarBuilder } from './grammar.ts';
import type { Json } from './any-value.ts';
import type { Conversion } from './conversion.ts';
import type { SchemaObject } from './merge.ts';
import { encodePointer } from './shape.ts';

/**
 * Members in the order of `properties`, optional ones skippable, each at most once; then, where
 * `additionalProperties` says more than false, members with other names.
 */
export function objectRule(
  conversion: Conversion,
  schema: SchemaObject,
  pointer: string,
  depth: number,
): Element {
  const { b, json, convert } = conversion;
  const members = readMembers(schema, pointer);
  const extra = schema.additionalProperties;
  if (members.length === 0 && (extra === undefined || extra === true)) return json.object;
  const [open, close, colon, comma] = ['{', '}', ':', ','].map((text) => b.literal(text));

  const names = members.map(({ name }) => name);
  const others =
    extra === undefined || extra === false
      ? undefined
      : b.rule([
          [otherName(b, json, names), ...colon!, convert(extra, `${pointer}/additionalProperties`, depth)],
        ]);

  const values = members.map(({ name, value, at }) => [
    ...b.literal(`${JSON.stringify(name)}:`),
    convert(value, at, depth),
  ]);
  // From the last member to the first: what may follow, when nothing was written yet and when something was.
  let [first, later] = others
    ? [
        b.optional([others, b.repeat([...comma!, others], 0, Infinity)]),
        b.repeat([...comma!, others], 0, Infinity),
      ]
    : [b.rule([[]]), b.rule([[]])];
  for (let i = members.length - 1; i >= 0; i--) {
    const written: [Alternative, Alternative] = [
      [...values[i]!, later],
      [...comma!, ...values[i]!, later],
    ];
    const skipped: [Alternative[], Alternative[]] = members[i]!.isRequired
      ? [[], []]
      : [[[first]], [[later]]];
    first = b.rule([written[0], ...skipped[0]]);
    later = b.rule([written[1], ...skipped[1]]);
  }
  return b.rule([[...open!, first, ...close!]]);
}

interface Member {
  name: string;
  value: unknown;
  at: string;
  isRequired: boolean;
}

function readMembers(schema: SchemaObject, pointer: string): Member[] {
  const properties = (schema.properties as Record<string, unknown> | undefined) ?? {};
  const wanted = new Set((schema.required as string[] | undefined) ?? []);
  const members = Object.entries(properties).map(([name, value]) => ({
    name,
    value,
    at: `${pointer}/properties/${encodePointer(name)}`,
    isRequired: wanted.has(name),
  }));
  // A required name without a property of its own is an additional property that must come.
  for (const name of wanted) {
    if (Object.hasOwn(properties, name)) continue;
    const value: unknown = schema.additionalProperties;
    members.push({ name, value, at: `${pointer}/additionalProperties`, isRequired: true });
  }
  return members;
}

/**
 * A quoted name that is none of `names`. Spelled without escapes, so that no name has two spellings.
 */
function otherName(b: GrammarBuilder, json: Json, names: readonly string[]): Element {
  const quote = b.literal('"');
  if (names.length === 0) return json.string;
  const free: [number, number][] = [
    [0x20, 0x21],
    [0x23, 0x5b],
    [0x5d, 0x7e],
    [0xa0, 0xd7ff],
    [0xe000, 0x10ffff],
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
