import type { Conversion } from './conversion.ts';
import type { Element } from './grammar.ts';
import type { SchemaObject } from './keywords.ts';
import { multiplesRule } from './multiples.ts';
import { numbersBetween } from './digits.ts';
import { type Bounds, boundsIn, fractionDigits, scaledEnds, wholeDigits } from './number-range.ts';

/** Digits behind the point, where the bounds ask for no more: as many as a number without bounds has. */
const usualPlaces = 6;

/** Numbers within the bounds, written as digits with a fraction of limited length and no exponent. */
export function numberRule(
  { b, json, fault, unheld }: Conversion,
  type: 'integer' | 'number',
  schema: SchemaObject,
  pointer: string,
): Element {
  const bounds = schema as Bounds;
  const [step, ...more] = [schema.multipleOf ?? []].flat() as number[];
  if (more.length > 0) unheld(pointer, 'multipleOf', 'it is asked for twice');
  const multiples = step === undefined ? undefined : multiplesRule(b, { ...schema, type }, step);
  if (multiples) return multiples;
  if (step !== undefined) {
    const why = 'it takes a whole number of at most 200, or bounds with few multiples between';
    unheld(pointer, 'multipleOf', why);
  }
  const ends = boundsIn(bounds);
  if (ends.length === 0) return json[type];
  if (type === 'integer') return b.rule(numbersBetween(b, scaledEnds(bounds, 0)));
  const { exclusiveMinimum, exclusiveMaximum } = bounds;
  const exclusive = boundsIn({ exclusiveMinimum, exclusiveMaximum });
  const needed = Math.max(...ends.map(fractionDigits));
  const whole = Math.max(0, ...exclusive.map(wholeDigits));
  // Near an exclusive bound one more digit must still be told apart by a double.
  const places = Math.max(needed + 1, Math.min(usualPlaces, 15 - whole));
  const isTooFine = exclusive.length > 0 && whole + places > 16;
  if (isTooFine || needed + Math.max(...ends.map(wholeDigits)) > 300)
    throw fault(pointer, 'its bounds need more digits than a double holds', 'schema_too_complex');
  return b.rule(numbersBetween(b, scaledEnds(bounds, places), { places }));
}
