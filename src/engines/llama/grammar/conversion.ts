import type { Json } from './any-value.ts';
import type { Element, GrammarBuilder } from './grammar.ts';
import type { Schema, SchemaObject } from '../../schemas/keywords.ts';
import type { Walk } from '../../schemas/merge.ts';
import type { Automaton } from './regular/automaton.ts';

/** What the rules of one schema are made with. */
export interface Conversion {
  readonly b: GrammarBuilder;
  readonly json: Json;
  readonly languageOf: (pattern: string) => Automaton | null;
  readonly convert: (schema: Schema | undefined) => Element;
  readonly walk: Walk;
}

/** Repeats are unrolled, a rule for each; what is asked for beyond is left to whoever checks the answer. */
const maxRepeats = 2_000;

/** How many items, members or characters there are to be. */
export function counts(
  schema: SchemaObject,
  what: 'Items' | 'Properties' | 'Length',
): [least: number, most: number] {
  const least = (schema[`min${what}`] as number | undefined) ?? 0;
  const most = (schema[`max${what}`] as number | undefined) ?? Infinity;
  return [Math.min(least, maxRepeats), most > maxRepeats ? Infinity : most];
}
