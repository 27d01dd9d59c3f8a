import type { Json } from './any-value.ts';
import type { Element, GrammarBuilder } from './grammar.ts';
import type { FaultAt } from './shape.ts';

/** What the rules of one schema are made with. */
export interface Conversion {
  readonly b: GrammarBuilder;
  readonly json: Json;
  readonly strict: boolean;
  readonly convert: (schema: unknown, pointer: string, depth: number) => Element;
  readonly fault: FaultAt;
}
