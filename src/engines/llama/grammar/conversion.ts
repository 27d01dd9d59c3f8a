import type { ApiError, ErrorCode } from '../../../core/errors.ts';
import type { Json } from './any-value.ts';
import type { Element, GrammarBuilder } from './grammar.ts';

/** What the rules of one schema are made with. */
export interface Conversion {
  readonly b: GrammarBuilder;
  readonly json: Json;
  readonly convert: (schema: unknown, pointer: string, depth: number) => Element;
  readonly fault: (pointer: string, message: string, code?: ErrorCode) => ApiError;
}
