import { type Conversion, counts } from './conversion.ts';
import { formatPatterns } from './formats.ts';
import type { Element } from './grammar.ts';
import type { SchemaObject } from '../../schemas/keywords.ts';
import { plainPattern } from '../../schemas/plain-pattern.ts';
import { AutomatonTooLarge, both, ofLength } from './regular/automaton.ts';
import { regularRule } from './regular/regular-rule.ts';

/** Rule for a quoted string: length, patterns (without look-around) and formats, or only length if those are too large. */
export function stringRule({ b, json, languageOf }: Conversion, schema: SchemaObject): Element {
  const [min, max] = counts(schema, 'Length');
  if (max < min) return b.rule([]);
  const isAnyLength = min === 0 && max === Infinity;
  const quote = b.literal('"');
  try {
    // RE2 rejects look-around. Patterns that `plainPattern` cannot rewrite either allow any text.
    const languages = patternsOf(schema).flatMap(
      (pattern) => languageOf(pattern) ?? languageOf(plainPattern(pattern) ?? '') ?? [],
    );
    if (languages.length > 0) {
      if (!isAnyLength) languages.push(ofLength(min, max));
      return b.rule([[...quote, regularRule(b, languages.reduce(both)), ...quote]]);
    }
  } catch (error) {
    if (!(error instanceof AutomatonTooLarge)) throw error;
  }
  return isAnyLength
    ? json.string
    : b.rule([[...quote, b.repeat([json.stringCharacter], min, max), ...quote]]);
}

/** Patterns of a string, also for its formats. Unknown formats are ignored. */
function patternsOf({ pattern, format }: SchemaObject): string[] {
  const formats = [format ?? []].flat() as string[];
  return [
    ...([pattern ?? []].flat() as string[]),
    ...formats.flatMap((name) =>
      Object.hasOwn(formatPatterns, name) ? `^(?:${formatPatterns[name]})$` : [],
    ),
  ];
}
