import type { Json } from './any-value.ts';
import type { Element, GrammarBuilder } from './grammar.ts';
import type { Schema, SchemaObject } from '../../schemas/keywords.ts';
import type { Walk } from '../../schemas/merge.ts';
import type { Automaton } from './regular/automaton.ts';

/** Context of the conversion of one schema. */
export interface Conversion {
  readonly b: GrammarBuilder;
  readonly json: Json;
  readonly languageOf: (pattern: string) => Automaton | null;
  readonly convert: (schema: Schema | undefined) => Element;
  readonly walk: Walk;
}

/** Repeats are unrolled, one rule each. The check of the answer covers larger counts. */
const maxRepeats = 2_000;

/** Bounds for the number of items, members or characters. */
export function counts(schema: SchemaObject, what: 'Items' | 'Properties' | 'Length'): [number, number] {
  const least = (schema[`min${what}`] as number | undefined) ?? 0;
  const most = (schema[`max${what}`] as number | undefined) ?? Infinity;
  return [Math.min(least, maxRepeats), most > maxRepeats ? Infinity : most];
}
