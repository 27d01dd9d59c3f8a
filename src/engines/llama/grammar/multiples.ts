import type { Alternative, GrammarBuilder, RuleElement } from './grammar.ts';
import type { SchemaObject } from './merge.ts';
import { naturalsBetween } from './naturals.ts';
import { type Bounds, ceilDivide, integerEnds } from './number-range.ts';
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
  const scale = 10n ** BigInt(zeros);
  const divisor = BigInt(step) / scale;
  if (divisor > largestStep) return listed(b, schema, step);
  const [least, most] = integerEnds(schema);
  const [low, high] = [ceilDivide(least, scale), -ceilDivide(-most, scale)];
  const tail = b.literal('0'.repeat(zeros));
  const signed = (sign: string, from: bigint, to: bigint): Alternative[] =>
    naturalsBetween(b, [from > 0n ? from : 1n, to], { divisor: Number(divisor) }).map((digits) => [
      ...b.literal(sign),
      ...digits,
      ...tail,
    ]);
  const zero = low <= 0n && high >= 0n ? [b.literal('0')] : [];
  return b.rule([...zero, ...signed('', low, high), ...signed('-', -high, -low)]);
}

/** Doubles that a division finds to be multiples, as checkers of schemas do: 0.29 is none of 0.01. */
function listed(b: GrammarBuilder, schema: SchemaObject & Bounds, step: number): RuleElement | undefined {
  const low = Math.max(schema.minimum ?? -Infinity, schema.exclusiveMinimum ?? -Infinity);
  const high = Math.min(schema.maximum ?? Infinity, schema.exclusiveMaximum ?? Infinity);
  if (!(high - low < step * mostValues)) return undefined;
  const decimals = /e-(\d+)$/.exec(step.toExponential())?.[1];
  if (Number(decimals ?? 0) > 15) return undefined;
  const kept = new Set<number>();
  for (let i = Math.floor(low / step); i <= Math.ceil(high / step); i++) {
    const value = Number((i * step).toPrecision(15));
    if (isWithin(value, schema)) kept.add(value);
  }
  return b.rule([...kept].map((value) => b.literal(JSON.stringify(value))));
}
