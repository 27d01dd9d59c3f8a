/**
 * Rewrites a pattern in the syntax that all grammars support: literals, character classes, groups, alternatives, and greedy
 * quantifiers between `^` and `$`. llama.cpp ignores a pattern with `\d` or without both anchors, and lets `.` match a quote,
 * which ends the string; xgrammar matches the whole text, and rejects `\b` and `\p`.
 *
 * The result omits look-around, and characters that JSON strings escape. Without look-around, it matches only texts that the
 * pattern matches.
 * @returns null for a pattern with other syntax
 */
export function plainPattern(pattern: string): string | null {
  const reader: Reader = { characters: Array.from(pattern), at: 0 };
  try {
    const all = between(reader, () => whole(reader));
    if (reader.at < reader.characters.length) return null;
    const text = all.length === 1 ? `^${all[0]}$` : `^(${all.join('|')})$`;
    return text === `^${filler}$` ? null : text;
  } catch (error) {
    if (error instanceof NotPlain) return null;
    throw error;
  }
}

class NotPlain extends Error {}

interface Reader {
  readonly characters: readonly string[];
  at: number;
}

type Range = readonly [low: number, high: number];

/** Set of code points. */
interface CharacterSet {
  ranges: readonly Range[];
  isNegated: boolean;
}

/** Maximum repetitions, which grammars unroll. */
const maxRepeats = 1_000;
/** Controls, the quote and the backslash. */
const escapedInJson = [
  [0, 0x1f],
  [0x22, 0x22],
  [0x5c, 0x5c],
  [0x7f, 0x7f],
] as const;
const anything: CharacterSet = { ranges: [], isNegated: true };
const filler = `${classOf(anything)}*`;

function between<T>(reader: Reader, one: () => T): T[] {
  const all = [one()];
  while (take(reader, '|')) all.push(one());
  return all;
}

/** An alternative of the whole pattern, which may match anywhere unless it is anchored. */
function whole(reader: Reader): string {
  const before = take(reader, '^') ? '' : filler;
  const text = sequence(reader);
  return `${before}${text}${take(reader, '$') ? '' : filler}`;
}

function sequence(reader: Reader): string {
  let text = '';
  for (;;) {
    const character = reader.characters[reader.at];
    if (character === undefined || '|)$'.includes(character)) return text;
    const one = atom(reader);
    text += one === '' ? '' : one + quantifier(reader);
  }
}

function atom(reader: Reader): string {
  const character = next(reader);
  if (character === '(') return isLookAround(reader) ? skipped(reader) : group(reader);
  if (character === '[') return classOf(setIn(reader));
  if (character === '.') return classOf(anything);
  if (character === '\\') {
    const meant = escaped(reader);
    return typeof meant === 'number' ? literal(meant) : classOf(meant);
  }
  if ('^*+?{}]'.includes(character)) throw new NotPlain();
  return literal(character.codePointAt(0)!);
}

const isLookAround = (reader: Reader) => /^\?<?[=!]/.test(rest(reader));

/** Skips a look-around to its closing bracket. */
function skipped(reader: Reader): '' {
  for (let depth = 1; depth > 0;) {
    const character = next(reader);
    if (character === '\\') next(reader);
    else if (character === '[') setIn(reader);
    else if (character === '(') depth++;
    else if (character === ')') depth--;
  }
  return '';
}

function group(reader: Reader): string {
  const [head] = /^\?(?:[:]|P?<[A-Za-z_]\w*>)/.exec(rest(reader)) ?? [''];
  reader.at += head.length;
  if (reader.characters[reader.at] === '?') throw new NotPlain();
  const inner = between(reader, () => sequence(reader)).join('|');
  if (!take(reader, ')')) throw new NotPlain();
  return `(${inner})`;
}

function quantifier(reader: Reader): string {
  if (!'*+?{'.includes(reader.characters[reader.at] ?? ' ')) return '';
  const [text = '', least = '', most = least] = /^(?:[*+?]|\{(\d+)(?:,(\d*))?\})/.exec(rest(reader)) ?? [];
  if (text === '') throw new NotPlain();
  if (Number(least) > maxRepeats || Number(most) > maxRepeats) throw new NotPlain();
  reader.at += text.length;
  // Lazy quantifiers match the same texts.
  take(reader, '?');
  if ('*+?{'.includes(reader.characters[reader.at] ?? ' ')) throw new NotPlain();
  return text;
}

/** A character or a set of characters. */
function escaped(reader: Reader): number | CharacterSet {
  const character = next(reader);
  const set = sets.get(character.toLowerCase());
  if (set) return { ranges: set, isNegated: character !== character.toLowerCase() };
  if (character === 'x' || character === 'u') {
    const [digits] = (character === 'x' ? /^[\dA-Fa-f]{2}/ : /^[\dA-Fa-f]{4}/).exec(rest(reader)) ?? [];
    if (digits === undefined) throw new NotPlain();
    reader.at += digits.length;
    return Number.parseInt(digits, 16);
  }
  if (/[\w\s]/.test(character)) throw new NotPlain();
  return character.codePointAt(0)!;
}

const sets = new Map<string, CharacterSet['ranges']>([
  ['d', [[0x30, 0x39]]],
  [
    'w',
    [
      [0x30, 0x39],
      [0x41, 0x5a],
      [0x5f, 0x5f],
      [0x61, 0x7a],
    ],
  ],
  ['s', [[0x20, 0x20]]],
]);

/** Set in brackets, after the opening one. */
function setIn(reader: Reader): CharacterSet {
  const isNegated = take(reader, '^');
  const ranges: Range[] = [];
  const inverted: CharacterSet['ranges'][] = [];
  do {
    const low = member(reader);
    if (typeof low !== 'number') {
      if (low.isNegated) inverted.push(low.ranges);
      else ranges.push(...low.ranges);
      continue;
    }
    const isRange = reader.characters[reader.at] === '-' && reader.characters[reader.at + 1] !== ']';
    if (isRange) reader.at++;
    const high = isRange ? member(reader) : low;
    if (typeof high !== 'number' || high < low) throw new NotPlain();
    ranges.push([low, high]);
  } while (!take(reader, ']'));
  const [first, ...more] = inverted;
  if (!first) return { ranges, isNegated };
  // `[\s\S]`
  const isAll = first.every(([low, high]) => ranges.some(([from, to]) => from <= low && high <= to));
  if (!isAll || more.length > 0 || isNegated) throw new NotPlain();
  return anything;
}

function member(reader: Reader): number | CharacterSet {
  const character = next(reader);
  if (character === '\\') return escaped(reader);
  // Dialects differ for empty and POSIX classes.
  if (character === ']' || (character === '[' && ':=.'.includes(reader.characters[reader.at] ?? ' ')))
    throw new NotPlain();
  return character.codePointAt(0)!;
}

function classOf({ ranges, isNegated }: CharacterSet): string {
  if (isNegated) return `[^${[...ranges, ...escapedInJson].map(rangeText).join('')}]`;
  const kept = escapedInJson.reduce(without, ranges);
  if (kept.length === 0) throw new NotPlain();
  return `[${kept.map(rangeText).join('')}]`;
}

function without(ranges: CharacterSet['ranges'], [low, high]: Range): CharacterSet['ranges'] {
  const parts = ranges.flatMap(([from, to]): Range[] => [
    [from, Math.min(to, low - 1)],
    [Math.max(from, high + 1), to],
  ]);
  return parts.filter(([from, to]) => from <= to);
}

function rangeText([low, high]: Range): string {
  return low === high ? inClass(low) : `${inClass(low)}-${inClass(high)}`;
}

function inClass(codePoint: number): string {
  const character = characterOf(codePoint);
  if (codePoint > 0x7f || /[a-zA-Z\d]/.test(character)) return character;
  return `\\x${codePoint.toString(16).toUpperCase().padStart(2, '0')}`;
}

function literal(codePoint: number): string {
  if (escapedInJson.some(([low, high]) => low <= codePoint && codePoint <= high)) throw new NotPlain();
  const character = characterOf(codePoint);
  return /[.^$*+?()[\]{}|]/.test(character) ? `[${inClass(codePoint)}]` : character;
}

function characterOf(codePoint: number): string {
  if (codePoint >= 0xd800 && codePoint <= 0xdfff) throw new NotPlain();
  return String.fromCodePoint(codePoint);
}

function take(reader: Reader, character: string): boolean {
  if (reader.characters[reader.at] !== character) return false;
  reader.at++;
  return true;
}

function next(reader: Reader): string {
  const character = reader.characters[reader.at++];
  if (character === undefined) throw new NotPlain();
  return character;
}

/** Next characters, enough for the head of a group or a quantifier. */
function rest({ characters, at }: Reader): string {
  return characters.slice(at, at + 64).join('');
}
