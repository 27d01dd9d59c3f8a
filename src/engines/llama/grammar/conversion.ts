import type { ApiError, ErrorCode } from '../../../core/errors.ts';
import type { Json } from './any-value.ts';
import type { Element, GrammarBuilder } from './grammar.ts';
import type { SchemaObject } from './keywords.ts';
import type { Walk } from './merge.ts';
import type { Language } from './regular/automaton.ts';

/** Makes the error of a schema, at a JSON pointer in it. */
export type FaultAt = (pointer: string, message: string, code?: ErrorCode) => ApiError;

/** What the rules of one schema are made with. */
export interface Conversion {
  readonly b: GrammarBuilder;
  readonly json: Json;
  readonly languageOf: (pattern: string) => Language;
  readonly convert: (schema: unknown, pointer: string) => Element;
  readonly walk: (pointer: string) => Walk;
  readonly fault: FaultAt;
  /** A keyword the grammar cannot hold here: refused under `strict`, else left to whoever checks the answer. */
  readonly unheld: (pointer: string, keyword: string, why: string) => void;
}

/** Repeats are unrolled, a rule for each; beyond this they are refused. */
const maxRepeats = 2_000;

/** A count such as `maxItems`, small enough to be unrolled. */
export function repeatCount(
  { fault }: Conversion,
  schema: SchemaObject,
  keyword: string,
  pointer: string,
): number | undefined {
  const value = schema[keyword] as number | undefined;
  if (value === undefined || value <= maxRepeats) return value;
  throw fault(
    `${pointer}/${keyword}`,
    `must not exceed ${maxRepeats} with this engine`,
    'schema_too_complex',
  );
}
