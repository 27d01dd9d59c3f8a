import { RE2JSException } from 're2js';
import { formatPatterns } from '../formats.ts';
import { type Automaton, AutomatonTooLarge, searchFor } from './automaton.ts';

/** The language of a pattern or a format, or why it cannot be followed. */
type Language = Automaton | { unheld: string };

/** The languages of strings of one schema, made once each. */
export interface Strings {
  /** The texts `pattern` is found in. */
  ofPattern(pattern: string): Language;
  /** Texts of a format. They are some of its texts, never others. */
  ofFormat(format: string): Language;
}

/** Positions in patterns that are looked at for one schema, which bounds the time they may cost. */
const maxWork = 2_000_000;

export function createStrings(): Strings {
  const known = new Map<string, Language>();
  let work = 0;

  function ofPattern(pattern: string): Language {
    let language = known.get(pattern);
    if (!language) known.set(pattern, (language = find(pattern)));
    return language;
  }

  function find(pattern: string): Language {
    // Before it is read: where nothing is left, none is.
    spend(pattern.length);
    try {
      return searchFor(pattern, spend);
    } catch (error) {
      if (error instanceof RE2JSException) return { unheld: error.message };
      throw error;
    }
  }

  function spend(positions: number): void {
    work += positions;
    if (work > maxWork) throw new AutomatonTooLarge();
  }

  function ofFormat(format: string): Language {
    return Object.hasOwn(formatPatterns, format)
      ? ofPattern(`^(?:${formatPatterns[format]})$`)
      : { unheld: `${JSON.stringify(format)} is not among the formats it knows` };
  }

  return { ofPattern, ofFormat };
}
