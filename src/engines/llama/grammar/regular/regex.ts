import type { CharRange } from '../grammar.ts';
import { includes, lastCodePoint, tidy } from './ranges.ts';

/**
 * A regular language of texts, with intersection and complement beside the usual operations. Equal languages written
 * alike are one object, and `derive` gives what may follow a character (Brzozowski's derivatives): the distinct
 * derivatives of an expression are the states of its automaton.
 */
export type Regex = { readonly id: number; readonly isNullable: boolean } & (
  | { readonly kind: 'chars'; readonly ranges: readonly CharRange[] }
  | { readonly kind: 'empty' }
  | { readonly kind: 'concat'; readonly first: Regex; readonly rest: Regex }
  | { readonly kind: 'any' | 'all'; readonly of: readonly Regex[] }
  | { readonly kind: 'not'; readonly of: Regex }
  | { readonly kind: 'repeat'; readonly of: Regex; readonly min: number; readonly max: number }
);

export interface Regexes {
  /** No text at all. */
  readonly nothing: Regex;
  /** The empty text. */
  readonly empty: Regex;
  readonly everything: Regex;
  readonly anyCharacter: Regex;
  readonly chars: (ranges: readonly CharRange[]) => Regex;
  readonly literal: (text: string) => Regex;
  readonly concat: (parts: readonly Regex[]) => Regex;
  /** Texts of at least one of them. */
  readonly any: (of: readonly Regex[]) => Regex;
  /** Texts of every one of them. */
  readonly all: (of: readonly Regex[]) => Regex;
  readonly not: (of: Regex) => Regex;
  readonly repeat: (of: Regex, min: number, max: number) => Regex;
  /** What may follow `codePoint`. */
  readonly derive: (regex: Regex, codePoint: number) => Regex;
}

/** An expression whose automaton would take too long to find. */
export class RegexTooLarge extends Error {
  constructor() {
    super('The pattern has too many states.');
    this.name = 'RegexTooLarge';
  }
}

/** Derivatives taken in all, which bounds the time a pattern may cost. */
const maxDerivatives = 400_000;

export function createRegexes(): Regexes {
  const known = new Map<string, Regex>();
  const derivatives = new Map<number, Map<number, Regex>>();
  let work = 0;

  type Shape = Regex extends infer R ? (R extends Regex ? Omit<R, 'id'> : never) : never;
  function node(key: string, shape: Shape): Regex {
    let found = known.get(key);
    if (!found) known.set(key, (found = { ...shape, id: known.size } as Regex));
    return found;
  }

  const empty = node('e', { kind: 'empty', isNullable: true });
  const chars = (ranges: readonly CharRange[]): Regex => {
    const tidied = tidy(ranges);
    return node(`c${tidied.join(';')}`, { kind: 'chars', isNullable: false, ranges: tidied });
  };
  const nothing = chars([]);
  const everything = node(`n${nothing.id}`, { kind: 'not', isNullable: true, of: nothing });

  function pair(first: Regex, rest: Regex): Regex {
    if (first === nothing || rest === nothing) return nothing;
    if (first === empty) return rest;
    if (rest === empty) return first;
    if (first.kind === 'concat') return pair(first.first, pair(first.rest, rest));
    const isNullable = first.isNullable && rest.isNullable;
    return node(`.${first.id},${rest.id}`, { kind: 'concat', isNullable, first, rest });
  }

  function group(kind: 'any' | 'all', of: readonly Regex[]): Regex {
    const [neutral, absorbing] = kind === 'any' ? [nothing, everything] : [everything, nothing];
    const parts = new Set(of.flatMap((part) => (part.kind === kind ? part.of : [part])));
    parts.delete(neutral);
    if (parts.has(absorbing)) return absorbing;
    const merged = kind === 'any' ? mergeRepeats([...parts]) : [...parts];
    const sorted = merged.toSorted((a, b) => a.id - b.id);
    if (sorted.length < 2) return sorted[0] ?? neutral;
    const isNullable =
      kind === 'any' ? sorted.some((part) => part.isNullable) : sorted.every((part) => part.isNullable);
    return node(`${kind}${sorted.map(({ id }) => id).join(',')}`, { kind, isNullable, of: sorted });
  }

  /** Of `x{0,3}y` and `x{0,2}y` the first says all: without this, every start of a match would be a state. */
  function mergeRepeats(parts: Regex[]): Regex[] {
    const longest = new Map<string, Regex>();
    const rest = parts.filter((part) => {
      const head = part.kind === 'concat' ? part.first : part;
      if (head.kind !== 'repeat' || head.min > 0) return true;
      const key = `${head.of.id},${part.kind === 'concat' ? part.rest.id : ''}`;
      const before = longest.get(key);
      if (!before || maxOf(before) < head.max) longest.set(key, part);
      return false;
    });
    return [...rest, ...longest.values()];
  }

  function maxOf(part: Regex): number {
    const head = part.kind === 'concat' ? part.first : part;
    return head.kind === 'repeat' ? head.max : 0;
  }

  function not(of: Regex): Regex {
    if (of.kind === 'not') return of.of;
    return node(`n${of.id}`, { kind: 'not', isNullable: !of.isNullable, of });
  }

  function repeat(of: Regex, min: number, max: number): Regex {
    if (max < min) return nothing;
    if (max === 0 || of === empty) return empty;
    if (min === 1 && max === 1) return of;
    if (of === nothing) return min === 0 ? empty : nothing;
    const isNullable = min === 0 || of.isNullable;
    return node(`r${of.id},${min},${max}`, { kind: 'repeat', isNullable, of, min, max });
  }

  function derive(regex: Regex, codePoint: number): Regex {
    let byCharacter = derivatives.get(regex.id);
    if (!byCharacter) derivatives.set(regex.id, (byCharacter = new Map()));
    let found = byCharacter.get(codePoint);
    if (!found) {
      if (++work > maxDerivatives) throw new RegexTooLarge();
      byCharacter.set(codePoint, (found = differentiate(regex, codePoint)));
    }
    return found;
  }

  function differentiate(regex: Regex, codePoint: number): Regex {
    switch (regex.kind) {
      case 'empty':
        return nothing;
      case 'chars':
        return includes(regex.ranges, codePoint) ? empty : nothing;
      case 'concat': {
        const inFirst = pair(derive(regex.first, codePoint), regex.rest);
        return regex.first.isNullable ? group('any', [inFirst, derive(regex.rest, codePoint)]) : inFirst;
      }
      case 'any':
      case 'all':
        return group(
          regex.kind,
          regex.of.map((part) => derive(part, codePoint)),
        );
      case 'not':
        return not(derive(regex.of, codePoint));
      default: {
        const left = repeat(regex.of, Math.max(0, regex.min - 1), regex.max - 1);
        return pair(derive(regex.of, codePoint), left);
      }
    }
  }

  return {
    nothing,
    empty,
    everything,
    anyCharacter: chars([[0, lastCodePoint]]),
    chars,
    literal: (text) =>
      Array.from(text, (character) => character.codePointAt(0)!).reduceRight(
        (rest, codePoint) => pair(chars([[codePoint, codePoint]]), rest),
        empty,
      ),
    concat: (parts) => parts.reduceRight((rest, part) => pair(part, rest), empty),
    any: (of) => group('any', of),
    all: (of) => group('all', of),
    not,
    repeat,
    derive,
  };
}
