import type { CharRange, GrammarBuilder } from './grammar.ts';

/** Digits before the point that a double keeps, and an arbitrary number of digits after it. */
const integerDigits = 15;
const fractionDigits = 6;

/** Unescaped characters of a string. JSON forbids raw controls; C1 controls, lone surrogates and U+FFFD are unwanted. */
export const plainCharacters: readonly CharRange[] = [
  [0x20, 0x21],
  [0x23, 0x5b],
  [0x5d, 0x7e],
  [0xa0, 0xd7ff],
  [0xe000, 0xfffc],
  [0x10000, 0x10ffff],
];

export type Json = ReturnType<typeof createJson>;

/** Rules of JSON except for arrays and objects. */
export function createJson(b: GrammarBuilder) {
  const digit = b.chars([0x30, 0x39]);
  const escaped = b.chars(...Array.from('"\\/bfnrt', (c) => [c.charCodeAt(0), c.charCodeAt(0)] as const));
  // One character for minLength and maxLength.
  const stringCharacter = b.rule([[b.chars(...plainCharacters)], [...b.literal('\\'), escaped]]);
  const quote = b.literal('"');
  const string = b.rule([[...quote, b.repeat([stringCharacter], 0, Infinity), ...quote]]);
  const digits = b.repeat([digit], 0, integerDigits - 1);
  const magnitude = b.rule([[b.chars([0x31, 0x39]), digits]]);
  const integer = b.rule([b.literal('0'), [magnitude], [...b.literal('-'), magnitude]]);
  const fraction = b.optional([...b.literal('.'), b.repeat([digit], 1, fractionDigits)]);
  const number = b.rule([[b.optional(b.literal('-')), b.rule([b.literal('0'), [magnitude]]), fraction]]);
  const boolean = b.rule([b.literal('true'), b.literal('false')]);
  const nothing = b.rule([b.literal('null')]);
  const scalars = [[string], [number], [boolean], [nothing]];
  return { scalars, string, stringCharacter, number, integer, boolean, null: nothing };
}
