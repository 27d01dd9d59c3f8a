import { RE2JS, RE2JSException } from 're2js';
import { formatPatterns } from '../formats.ts';
import { type Automaton, AutomatonTooLarge, searchFor } from './automaton.ts';

/** The languages of strings of one schema, made once each. */
export interface Strings {
  /** The texts `pattern` is found in, or why it cannot be followed. */
  ofPattern(pattern: string): Automaton | { unheld: string };
  /** Texts of a format, or undefined for one that is not known. They are some of its texts, never others. */
  ofFormat(format: string): Automaton | undefined;
}

/** Positions in patterns that are looked at for one schema, which bounds the time they may cost. */
const maxWork = 2_000_000;

export function createStrings(): Strings {
  const known = new Map<string, Automaton>();
  let work = 0;

  function search(pattern: string): Automaton {
    let automaton = known.get(pattern);
    if (!automaton) known.set(pattern, (automaton = searchFor(pattern, spend)));
    return automaton;
  }

  function spend(positions: number): void {
    work += positions;
    if (work > maxWork) throw new AutomatonTooLarge();
  }

  return {
    ofPattern(pattern) {
      try {
        return search(pattern);
      } catch (error) {
        if (error instanceof RE2JSException) return { unheld: error.message };
        throw error;
      }
    },
    ofFormat(format) {
      const pattern = formatPattern(format);
      return pattern === undefined ? undefined : search(pattern);
    },
  };
}

/** Whether a text is of these patterns and formats, as far as they can be followed. */
export function isOf(text: string, patterns: readonly string[], formats: readonly string[]): boolean {
  const known = formats.flatMap((format) => formatPattern(format) ?? []);
  return [...patterns, ...known].every((pattern) => {
    try {
      return RE2JS.compile(pattern).test(text);
    } catch {
      return true;
    }
  });
}

function formatPattern(format: string): string | undefined {
  return Object.hasOwn(formatPatterns, format) ? `^(?:${formatPatterns[format]})$` : undefined;
}
