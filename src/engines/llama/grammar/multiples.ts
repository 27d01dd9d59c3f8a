import type { GrammarBuilder, RuleElement } from './grammar.ts';
import type { SchemaObject } from './keywords.ts';
import { numbersBetween } from './digits.ts';
import { type Bounds, scaledEnds } from './number-range.ts';
import { isWithin } from './satisfies.ts';

/** Steps above this need a rule for too many remainders. */
const largestStep = 200n;
/** Bounds with no more multiples between them are written out. */
const mostValues = 1_000;

/**
 * The multiples of `step` that are within a schema: by remainders, digit after digit, or written out one by one. Undefined
 * for steps that allow neither.
 */
export function multiplesRule(
  b: GrammarBuilder,
  schema: SchemaObject & Bounds,
  step: number,
): RuleElement | undefined {
  if (!Number.isInteger(step)) return listed(b, schema, step);
  const zeros = /0*$/.exec(String(BigInt(step)))![0].length;
  const divisor = BigInt(step) / 10n ** BigInt(zeros);
  if (divisor > largestStep) return listed(b, schema, step);
  const ends = scaledEnds(schema, -zeros);
  return b.rule(numbersBetween(b, ends, { divisor: Number(divisor), places: -zeros }));
}

/** Doubles that a division finds to be multiples, as checkers of schemas do: 0.29 is none of 0.01. */
function listed(b: GrammarBuilder, schema: SchemaObject & Bounds, step: number): RuleElement | undefined {
  const low = Math.max(schema.minimum ?? -Infinity, schema.exclusiveMinimum ?? -Infinity);
  const high = Math.min(schema.maximum ?? Infinity, schema.exclusiveMaximum ?? Infinity);
  if (low > high) return b.rule([]);
  const [first, last] = [Math.floor(low / step), Math.ceil(high / step)];
  // Beyond the safe integers one more is the same number.
  if (![first, last].every(Number.isSafeInteger) || last - first > mostValues) return undefined;
  const decimals = /e-(\d+)$/.exec(step.toExponential())?.[1];
  if (Number(decimals ?? 0) > 15) return undefined;
  const kept = new Set<number>();
  for (let i = first; i <= last; i++) {
    const value = Number((i * step).toPrecision(15));
    if (isWithin(value, schema)) kept.add(value);
  }
  return b.rule([...kept].map((value) => b.literal(JSON.stringify(value))));
}
