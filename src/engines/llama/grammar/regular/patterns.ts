import { RE2JSException } from 're2js';
import { type Automaton, AutomatonTooLarge, searchFor } from './automaton.ts';

/** The texts a pattern is found in, or why it cannot be followed. */
export type Language = Automaton | { unheld: string };

/** Positions in patterns that are looked at for one schema, which bounds the time they may cost. */
const maxWork = 2_000_000;

/** Finds the languages of the patterns of one schema, each once. */
export function createPatterns(): (pattern: string) => Language {
  const known = new Map<string, Language>();
  let work = 0;

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

  return (pattern) => {
    let language = known.get(pattern);
    if (!language) known.set(pattern, (language = find(pattern)));
    return language;
  };
}
