import type { Conversion } from './conversion.ts';
import type { Element } from './grammar.ts';
import type { SchemaObject } from './merge.ts';
import { multiplesRule } from './multiples.ts';
import { type Bounds, BoundsTooFine, integerRange, numberRange } from './number-range.ts';

export function numberRule(
  conversion: Conversion,
  type: 'integer' | 'number',
  schema: SchemaObject,
  pointer: string,
): Element {
  const { b, json, fault, unheld } = conversion;
  const [step, ...more] = [schema.multipleOf ?? []].flat() as number[];
  const range = schema as Bounds;
  if (more.length > 0) unheld(pointer, 'multipleOf', 'it is asked for twice');
  try {
    const multiples = step === undefined ? undefined : multiplesRule(b, { type, range, step });
    if (multiples) return multiples;
    if (step !== undefined) {
      const why = 'it takes a whole number of at most 200, or bounds with few multiples between';
      unheld(pointer, 'multipleOf', why);
    }
    return type === 'integer' ? integerRange(b, json, range) : numberRange(b, json, range);
  } catch (error) {
    if (!(error instanceof BoundsTooFine)) throw error;
    throw fault(pointer, 'its bounds need more digits than a double holds', 'schema_too_complex');
  }
}
