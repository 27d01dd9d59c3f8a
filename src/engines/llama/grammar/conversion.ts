import type { Json } from './any-value.ts';
import type { Element, GrammarBuilder } from './grammar.ts';
import type { Walk } from './merge.ts';
import type { Strings } from './regular/strings.ts';
import type { FaultAt } from './pointers.ts';

export interface Said {
  patterns: readonly string[];
  formats?: readonly string[];
}

/** What the rules of one schema are made with. */
export interface Conversion {
  readonly b: GrammarBuilder;
  readonly json: Json;
  readonly strings: Strings;
  readonly convert: (schema: unknown, pointer: string, depth: number) => Element;
  readonly walk: (pointer: string) => Walk;
  readonly fault: FaultAt;
  /** Whether a text is of patterns and formats, as far as they can be followed: of those that take too long to try, it is. */
  readonly isOf: (text: string, said: Said, pointer: string, keyword: string) => boolean;
  /** A keyword the grammar cannot hold here: refused under `strict`, else left to whoever checks the answer. */
  readonly unheld: (pointer: string, keyword: string, why: string) => void;
}
