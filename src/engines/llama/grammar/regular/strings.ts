import { formatPatterns } from '../formats.ts';
import { PatternUnheld } from './parse-pattern.ts';
import { patternLanguage } from './pattern-language.ts';
import { type Regex, type Regexes, createRegexes } from './regex.ts';

/** The languages of strings of one schema, made once each. */
export interface Strings {
  readonly regexes: Regexes;
  /** The texts `pattern` is found in, or why it cannot be followed. */
  readonly ofPattern: (pattern: string) => Regex | { unheld: string };
  /** Texts of a format, or undefined for one that is not known. They are some of its texts, never others. */
  readonly ofFormat: (format: string) => Regex | undefined;
  readonly matches: (language: Regex, text: string) => boolean;
}

export function createStrings(): Strings {
  const regexes = createRegexes();
  const known = new Map<string, Regex | { unheld: string }>();

  function ofPattern(pattern: string): Regex | { unheld: string } {
    let found = known.get(pattern);
    if (!found) known.set(pattern, (found = read(pattern)));
    return found;
  }

  function read(pattern: string): Regex | { unheld: string } {
    try {
      return patternLanguage(regexes, pattern);
    } catch (error) {
      if (error instanceof PatternUnheld) return { unheld: error.message };
      throw error;
    }
  }

  return {
    regexes,
    ofPattern,
    ofFormat(format) {
      const pattern = Object.hasOwn(formatPatterns, format) ? formatPatterns[format] : undefined;
      const language = pattern === undefined ? undefined : ofPattern(`^(?:${pattern})$`);
      return language && 'kind' in language ? language : undefined;
    },
    matches(language, text) {
      let state = language;
      for (const character of text) state = regexes.derive(state, character.codePointAt(0)!);
      return state.isNullable;
    },
  };
}
