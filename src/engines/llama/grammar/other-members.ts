import type { Conversion } from './conversion.ts';
import type { Alternative, Element } from './grammar.ts';
import { type Member, patternsOf } from './members.ts';
import { type Schema, type SchemaObject, mergeSchemas } from './merge.ts';
import { otherName } from './other-name.ts';
import { RegexTooLarge, type Regex } from './regular/regex.ts';
import { regularRule } from './regular/regular-rule.ts';
import { encodePointer } from './pointers.ts';
import { stringLanguages } from './string-rule.ts';

interface Others {
  schema: SchemaObject;
  members: readonly Member[];
  pointer: string;
  depth: number;
  /** Whether members beyond the named ones must be possible, though nothing is said about them. */
  isAsked: boolean;
}

/** More patterns than this have too many combinations. */
const maxPatterns = 4;

/** A member whose name the schema does not spell out, or undefined when there is none. */
export function otherMembers(conversion: Conversion, others: Others): Element | undefined {
  const { b, json, convert } = conversion;
  const { schema, members, pointer, depth, isAsked } = others;
  const names = members.map(({ name }) => name);
  const isOpen = isAsked || (members.length === 0 && schema.patternProperties === undefined);
  const additional = (schema.additionalProperties ?? isOpen) as Schema;
  const member = (name: Element, value: unknown, at: string): Alternative => [
    name,
    ...b.literal(':'),
    convert(value, at, depth),
  ];
  const at = `${pointer}/additionalProperties`;
  if (schema.patternProperties === undefined && (schema.propertyNames ?? true) === true) {
    return additional === false ? undefined : b.rule([member(otherName(b, json, names), additional, at)]);
  }
  const alternatives: Alternative[] = [];
  for (const { language, value, where } of nameGroups(conversion, others, additional)) {
    const { regexes } = conversion.strings;
    const free = regexes.all([language, regexes.not(regexes.any(names.map(regexes.literal)))]);
    try {
      const quote = b.literal('"');
      alternatives.push(member(b.rule([[...quote, regularRule(b, regexes, free), ...quote]]), value, where));
    } catch (error) {
      if (!(error instanceof RegexTooLarge)) throw error;
      const keyword = schema.patternProperties === undefined ? 'propertyNames' : 'patternProperties';
      conversion.unheld(pointer, keyword, 'the names it allows have too many states');
    }
  }
  return alternatives.length === 0 ? undefined : b.rule(alternatives);
}

interface NameGroup {
  language: Regex;
  value: Schema;
  where: string;
}

/** The names that match the same patterns, with what is said about them. */
function nameGroups(conversion: Conversion, { schema, pointer }: Others, additional: Schema): NameGroup[] {
  const { strings, unheld, walk } = conversion;
  const { all, not } = strings.regexes;
  const given = Object.keys((schema.patternProperties as object | undefined) ?? {});
  for (const pattern of given) {
    const language = strings.ofPattern(pattern);
    if (!('kind' in language))
      unheld(pointer, `patternProperties/${encodePointer(pattern)}`, `it has ${language.unheld}`);
  }
  const patterns = patternsOf(conversion, schema);
  if (patterns.length > maxPatterns) {
    unheld(pointer, 'patternProperties', `it has more than ${maxPatterns} patterns`);
    patterns.length = maxPatterns;
  }
  const allowed = nameLanguage(
    conversion,
    (schema.propertyNames ?? true) as Schema,
    `${pointer}/propertyNames`,
  );
  const groups: NameGroup[] = [];
  for (let set = 0; set < 1 << patterns.length; set++) {
    const isIn = (i: number): boolean => (set & (1 << i)) !== 0;
    const value = patterns
      .filter((_, i) => isIn(i))
      .reduce<Schema>(
        (merged, one) => mergeSchemas(merged, one.value, walk(pointer)),
        set === 0 ? additional : true,
      );
    if (value === false) continue;
    const languages = patterns.map(({ pattern }, i) => {
      const language = strings.ofPattern(pattern) as Regex;
      return isIn(i) ? language : not(language);
    });
    const first = patterns.find((_, i) => isIn(i));
    const where = first
      ? `${pointer}/patternProperties/${encodePointer(first.pattern)}`
      : `${pointer}/additionalProperties`;
    groups.push({ language: all([...allowed, ...languages]), value, where });
  }
  return groups;
}

/** What `propertyNames` asks of a name, as far as it speaks of strings. */
function nameLanguage(conversion: Conversion, names: Schema, pointer: string): Regex[] {
  const { regexes } = conversion.strings;
  if (names === true) return [];
  if (names === false) return [regexes.nothing];
  const known = [
    'type',
    'pattern',
    'format',
    'minLength',
    'maxLength',
    'enum',
    'const',
    'description',
    'title',
  ];
  const other = Object.keys(names).find((keyword) => !known.includes(keyword));
  if (other !== undefined)
    conversion.unheld(pointer, other, 'of names it knows patterns, formats, lengths and lists');
  if (names.type !== undefined && ![names.type].flat().includes('string')) return [regexes.nothing];
  const languages = stringLanguages(conversion, names, pointer);
  const { minLength = 0, maxLength = Infinity } = names as { minLength?: number; maxLength?: number };
  if (minLength > 0 || maxLength < Infinity) {
    languages.push(regexes.repeat(regexes.anyCharacter, minLength, maxLength));
  }
  const fixed = Object.hasOwn(names, 'const') ? [names.const] : (names.enum as unknown[] | undefined);
  if (fixed) {
    languages.push(regexes.any(fixed.filter((one) => typeof one === 'string').map(regexes.literal)));
  }
  return languages;
}
