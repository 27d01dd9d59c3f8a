import { type Conversion, repeatCount } from './conversion.ts';
import { formatPatterns, plainFormats } from './formats.ts';
import type { Element } from './grammar.ts';
import type { SchemaObject } from './keywords.ts';
import { type Automaton, AutomatonTooLarge, both, ofLength } from './regular/automaton.ts';
import { regularRule } from './regular/regular-rule.ts';

/** A quoted string within all that is said about it. */
export function stringRule(conversion: Conversion, schema: SchemaObject, pointer: string): Element {
  const { b, json, unheld } = conversion;
  const min = repeatCount(conversion, schema, 'minLength', pointer) ?? 0;
  const max = repeatCount(conversion, schema, 'maxLength', pointer) ?? Infinity;
  if (max < min) return b.rule([]);
  const isAnyLength = min === 0 && max === Infinity;
  const quote = b.literal('"');
  try {
    const languages = languagesOf(conversion, schema, pointer);
    if (languages.length > 0) {
      if (!isAnyLength) languages.push(ofLength(min, max));
      return b.rule([[...quote, regularRule(b, languages.reduce(both)), ...quote]]);
    }
  } catch (error) {
    if (!(error instanceof AutomatonTooLarge)) throw error;
    const keyword = schema.pattern === undefined ? 'format' : 'pattern';
    unheld(pointer, keyword, 'with what stands beside it, it has too many states');
  }
  return isAnyLength
    ? json.string
    : b.rule([[...quote, b.repeat([json.stringCharacter], min, max), ...quote]]);
}

/** What a string must be of, beside its length. */
function languagesOf({ languageOf, unheld }: Conversion, schema: SchemaObject, pointer: string): Automaton[] {
  const languages: Automaton[] = [];
  const add = (keyword: string, pattern: string): void => {
    const language = languageOf(pattern);
    if ('start' in language) languages.push(language);
    else unheld(pointer, keyword, language.unheld);
  };
  for (const pattern of [schema.pattern ?? []].flat() as string[]) add('pattern', pattern);
  for (const format of [schema.format ?? []].flat() as string[]) {
    if (Object.hasOwn(formatPatterns, format)) add('format', `^(?:${formatPatterns[format]})$`);
    else if (!plainFormats.has(format))
      unheld(pointer, 'format', `${JSON.stringify(format)} is not among the formats it knows`);
  }
  return languages;
}
