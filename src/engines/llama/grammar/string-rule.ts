import type { Conversion } from './conversion.ts';
import { plainFormats } from './formats.ts';
import type { Element } from './grammar.ts';
import type { SchemaObject } from './merge.ts';
import { repeatCount } from './repeat-count.ts';
import { RegexTooLarge, type Regex } from './regular/regex.ts';
import { regularRule } from './regular/regular-rule.ts';

/** A quoted string within all that is said about it. */
export function stringRule(conversion: Conversion, schema: SchemaObject, pointer: string): Element {
  const { b, json } = conversion;
  const min = repeatCount(conversion, schema, 'minLength', pointer) ?? 0;
  const max = repeatCount(conversion, schema, 'maxLength', pointer) ?? Infinity;
  if (max < min) return b.rule([]);
  const languages = stringLanguages(conversion, schema, pointer);
  const inside =
    languages.length > 0 ? regularInside(conversion, { languages, schema, pointer, min, max }) : undefined;
  if (!inside && min === 0 && max === Infinity) return json.string;
  const quote = b.literal('"');
  return b.rule([[...quote, inside ?? b.repeat([json.stringCharacter], min, max), ...quote]]);
}

/** The languages a string must be in, beside its length. */
export function stringLanguages(conversion: Conversion, schema: SchemaObject, pointer: string): Regex[] {
  const { strings, unheld } = conversion;
  const languages: Regex[] = [];
  for (const pattern of [schema.pattern ?? []].flat() as string[]) {
    const language = strings.ofPattern(pattern);
    if ('kind' in language) languages.push(language);
    else unheld(pointer, 'pattern', `it has ${language.unheld}`);
  }
  for (const format of [schema.format ?? []].flat() as string[]) {
    if (plainFormats.has(format)) continue;
    const language = strings.ofFormat(format);
    if (language) languages.push(language);
    else unheld(pointer, 'format', `${JSON.stringify(format)} is not among the formats it knows`);
  }
  return languages;
}

interface Confined {
  languages: readonly Regex[];
  schema: SchemaObject;
  pointer: string;
  min: number;
  max: number;
}

/** Undefined when the automaton grows out of hand and the schema may go without. */
function regularInside(
  { b, strings, unheld }: Conversion,
  { languages, schema, pointer, min, max }: Confined,
): Element | undefined {
  const { regexes } = strings;
  const length = min === 0 && max === Infinity ? [] : [regexes.repeat(regexes.anyCharacter, min, max)];
  try {
    return regularRule(b, regexes, regexes.all([...languages, ...length]));
  } catch (error) {
    if (!(error instanceof RegexTooLarge)) throw error;
    const keyword =
      schema.pattern === undefined ? (schema.format === undefined ? 'not' : 'format') : 'pattern';
    unheld(pointer, keyword, 'with what stands beside it, it has too many states');
    return undefined;
  }
}
