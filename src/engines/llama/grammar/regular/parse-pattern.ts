import type { CharRange } from '../grammar.ts';
import { complement } from './ranges.ts';

/** A pattern as it is written; anchors still stand where they stood. */
export type PatternNode =
  | { kind: 'chars'; ranges: CharRange[] }
  | { kind: 'start' }
  | { kind: 'end' }
  | { kind: 'sequence'; parts: PatternNode[] }
  | { kind: 'choice'; branches: PatternNode[] }
  | { kind: 'repeat'; of: PatternNode; min: number; max: number };

/** The pattern uses something that no regular expression proper has, or that dialects read differently. */
export class PatternUnheld extends Error {
  constructor(what: string) {
    super(what);
    this.name = 'PatternUnheld';
  }
}

/** Bounds of quantifiers above this are not followed. */
const maxBound = 2_000;

const decimal: CharRange[] = [[0x30, 0x39]];
const wordCharacters: CharRange[] = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
];
/** Dialects disagree about the white space beyond these; `regular-rule.ts` keeps clear of it. */
const whiteSpace: CharRange[] = [
  [0x09, 0x0a],
  [0x0c, 0x0d],
  [0x20, 0x20],
];
const classes: Record<string, CharRange[]> = {
  d: decimal,
  D: complement(decimal),
  w: wordCharacters,
  W: complement(wordCharacters),
  s: whiteSpace,
  S: complement(whiteSpace),
};
const anyButLineBreak = complement([[0x0a, 0x0a]]);
const controls: Record<string, number> = { t: 9, n: 10, v: 11, f: 12, r: 13, '0': 0 };

/**
 * Reads what JavaScript and RE2 both read alike: literals, classes, groups, alternation, quantifiers and the anchors
 * ^ and $. Throws `PatternUnheld` for everything else (looking around, back references, word boundaries, flags,
 * Unicode properties).
 */
export function parsePattern(pattern: string): PatternNode {
  const letters = Array.from(pattern);
  let at = 0;
  const peek = (): string | undefined => letters[at];
  const unheld = (what: string): PatternUnheld => new PatternUnheld(`${what} at character ${at}`);

  function take(text: string): boolean {
    const wanted = Array.from(text);
    if (!wanted.every((letter, i) => letters[at + i] === letter)) return false;
    at += wanted.length;
    return true;
  }

  function choice(): PatternNode {
    const branches = [sequence()];
    while (take('|')) branches.push(sequence());
    return branches.length === 1 ? branches[0]! : { kind: 'choice', branches };
  }

  function sequence(): PatternNode {
    const parts: PatternNode[] = [];
    while (at < letters.length && peek() !== '|' && peek() !== ')') parts.push(quantified());
    return { kind: 'sequence', parts };
  }

  function quantified(): PatternNode {
    const of = atom();
    const bounds = quantifier();
    if (!bounds) return of;
    if (of.kind === 'start' || of.kind === 'end') throw unheld('a repeated anchor');
    if (bounds.max < bounds.min) throw unheld('a quantifier with its bounds in the wrong order');
    // Lazy or not, the texts are the same.
    take('?');
    if (peek() === '+' || quantifier()) throw unheld('a quantifier behind a quantifier');
    return { kind: 'repeat', of, ...bounds };
  }

  function quantifier(): { min: number; max: number } | undefined {
    if (take('*')) return { min: 0, max: Infinity };
    if (take('+')) return { min: 1, max: Infinity };
    if (take('?')) return { min: 0, max: 1 };
    if (peek() !== '{') return undefined;
    const bounds = /^\{(\d+)(,(\d*))?\}/.exec(letters.slice(at, at + 20).join(''));
    if (!bounds) throw unheld('a brace that opens no quantifier');
    at += bounds[0].length;
    const min = Number(bounds[1]);
    const max = bounds[2] === undefined ? min : bounds[3] === '' ? Infinity : Number(bounds[3]);
    if (min > maxBound || (max > maxBound && max !== Infinity)) throw unheld(`a bound above ${maxBound}`);
    return { min, max };
  }

  function atom(): PatternNode {
    if (take('^')) return { kind: 'start' };
    if (take('$')) return { kind: 'end' };
    if (take('.')) return { kind: 'chars', ranges: anyButLineBreak };
    if (take('(')) return group();
    if (take('[')) return { kind: 'chars', ranges: characterClass() };
    const letter = letters[at++]!;
    if (letter === '\\') return { kind: 'chars', ranges: escape(false) };
    if ('*+?{}]'.includes(letter)) throw unheld(`a bare ${letter}`);
    return { kind: 'chars', ranges: [only(letter)] };
  }

  function group(): PatternNode {
    if (take('?') && !take(':') && !named()) throw unheld('a group that looks around or sets flags');
    const inside = choice();
    if (!take(')')) throw unheld('an unclosed group');
    return inside;
  }

  function named(): boolean {
    const name = /^P?<[A-Za-z_]\w*>/.exec(letters.slice(at, at + 64).join(''));
    at += name?.[0].length ?? 0;
    return name !== null;
  }

  function characterClass(): CharRange[] {
    const isNegated = take('^');
    const ranges: CharRange[] = [];
    if (peek() === ']') throw unheld('an empty class');
    while (!take(']')) {
      if (at >= letters.length) throw unheld('an unclosed class');
      const low = classItem();
      if (peek() !== '-' || letters[at + 1] === ']') {
        ranges.push(...low);
        continue;
      }
      at++;
      const high = classItem();
      const [from, to] = [single(low), single(high)];
      if (from > to) throw unheld('a range in the wrong order');
      ranges.push([from, to]);
    }
    return isNegated ? complement(ranges) : ranges;
  }

  function classItem(): CharRange[] {
    if (peek() === '[' && letters[at + 1] === ':') throw unheld('a named class');
    if (at >= letters.length) throw unheld('an unclosed class');
    const letter = letters[at++]!;
    return letter === '\\' ? escape(true) : [only(letter)];
  }

  function single(ranges: CharRange[]): number {
    if (ranges.length === 1 && ranges[0]![0] === ranges[0]![1]) return ranges[0]![0];
    throw unheld('a range that begins or ends with a class');
  }

  function escape(isInClass: boolean): CharRange[] {
    const letter = letters[at++];
    if (letter === undefined) throw unheld('a lone backslash');
    const known = classes[letter];
    if (known) return known;
    if (isInClass && letter === 'b') return [[8, 8]];
    const control = controls[letter];
    if (control !== undefined && !(letter === '0' && /\d/.test(peek() ?? ''))) return [[control, control]];
    const digits = { x: /^[0-9A-Fa-f]{2}/, u: /^(?:[0-9A-Fa-f]{4}|\{[0-9A-Fa-f]{1,6}\})/ }[letter];
    if (digits) {
      const hex = digits.exec(letters.slice(at, at + 8).join(''))?.[0];
      const codePoint = Number.parseInt(hex?.replace(/[{}]/g, '') ?? '', 16);
      if (!(codePoint <= 0x10_ffff)) throw unheld(`a broken \\${letter}`);
      at += hex!.length;
      return [[codePoint, codePoint]];
    }
    // Letters and digits that mean themselves in one dialect mean something else in another.
    if (/[0-9A-Za-z]/.test(letter)) throw unheld(`\\${letter}`);
    return [only(letter)];
  }

  const whole = choice();
  if (at < letters.length) throw unheld('a bare )');
  return whole;
}

function only(letter: string): CharRange {
  const codePoint = letter.codePointAt(0)!;
  return [codePoint, codePoint];
}
