import { type Conversion, repeatCount } from './conversion.ts';
import { plainFormats } from './formats.ts';
import type { Element } from './grammar.ts';
import type { SchemaObject } from './merge.ts';
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
function languagesOf({ strings, unheld }: Conversion, schema: SchemaObject, pointer: string): Automaton[] {
  const languages: Automaton[] = [];
  for (const pattern of [schema.pattern ?? []].flat() as string[]) {
    const language = strings.ofPattern(pattern);
    if ('start' in language) languages.push(language);
    else unheld(pointer, 'pattern', language.unheld);
  }
  for (const format of [schema.format ?? []].flat() as string[]) {
    if (plainFormats.has(format)) continue;
    const language = strings.ofFormat(format);
    if ('start' in language) languages.push(language);
    else unheld(pointer, 'format', language.unheld);
  }
  return languages;
}
