import type { Conversion } from './conversion.ts';
import type { GrammarBuilder, RuleElement } from './grammar.ts';
import type { SchemaObject } from '../../schemas/keywords.ts';
import { numbersBetween } from './digits.ts';
import {
  type Bounds,
  boundsIn,
  decimal,
  distinguishable,
  fractionDigits,
  scaledEnds,
  wholeDigits,
} from './number-range.ts';
import { isWithin } from '../../schemas/satisfies.ts';

/** Digits after the point, unless the bounds need more; as many as without bounds. */
const defaultPlaces = 6;
/** Limit for remainders times digits, because each needs a rule. */
const maxRemainders = 600;
/** Maximum multiples that are listed. */
const maxValues = 1_000;

/**
 * Numbers within the bounds, with a fraction of limited length and no exponent. Steps that cannot be listed, and exclusive
 * bounds themselves where a double cannot hold the number next to them, are left to the check of the answer.
 */
export function numberRule({ b, json }: Conversion, type: 'integer' | 'number', schema: SchemaObject) {
  const bounds = schema as Bounds;
  const [step] = [schema.multipleOf ?? []].flat() as number[];
  const multiples = step === undefined ? undefined : multiplesRule(b, { ...schema, type }, step);
  if (multiples) return multiples;
  const ends = boundsIn(bounds);
  if (ends.length === 0) return json[type];
  if (type === 'integer') return b.rule(numbersBetween(b, scaledEnds(bounds, 0)));
  const { exclusiveMinimum, exclusiveMaximum } = bounds;
  const exclusive = boundsIn({ exclusiveMinimum, exclusiveMaximum });
  const needed = Math.max(...ends.map(fractionDigits));
  const whole = Math.max(0, ...exclusive.map(wholeDigits));
  // A double must distinguish one more digit near an exclusive bound.
  const places = Math.max(needed + 1, Math.min(defaultPlaces, 15 - whole));
  if (needed + Math.max(...ends.map(wholeDigits)) > 300) return json.number;
  return b.rule(numbersBetween(b, scaledEnds(distinguishable(bounds, places), places), { places }));
}

/** Multiples of `step` within a schema: digit by digit by remainders, or listed; undefined if neither is possible. */
function multiplesRule(b: GrammarBuilder, schema: SchemaObject & Bounds, step: number) {
  const { digits: divisor, exponent } = decimal(step);
  const ends = scaledEnds(schema, -exponent);
  const length = Math.max(...ends.map((end) => String(end).length));
  const isTooFine = exponent < 0 && (schema.type === 'integer' || exponent < -defaultPlaces);
  if (isTooFine || Number(divisor) * length > maxRemainders) return listed(b, schema, step);
  return b.rule(numbersBetween(b, ends, { divisor: Number(divisor), places: -exponent }));
}

/** Lists the multiples of `step` within a schema. */
function listed(b: GrammarBuilder, schema: SchemaObject & Bounds, step: number): RuleElement | undefined {
  const low = Math.max(schema.minimum ?? -Infinity, schema.exclusiveMinimum ?? -Infinity);
  const high = Math.min(schema.maximum ?? Infinity, schema.exclusiveMaximum ?? Infinity);
  const [first, last] = [Math.floor(low / step), Math.ceil(high / step)];
  // Above the safe integers, adding 1 may not change a number.
  if (![first, last].every(Number.isSafeInteger) || last - first > maxValues) return undefined;
  if (Number(/e-(\d+)$/.exec(step.toExponential())?.[1] ?? 0) > 15) return undefined;
  const kept = new Set<number>();
  for (let i = first; i <= last; i++) {
    const value = Number((i * step).toPrecision(15));
    if (isWithin(value, schema)) kept.add(value);
  }
  return b.rule([...kept].map((value) => b.literal(JSON.stringify(value))));
}
