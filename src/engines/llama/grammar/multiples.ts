import type { Alternative, GrammarBuilder, RuleElement } from './grammar.ts';
import { naturalsBetween } from './naturals.ts';
import { type Bounds, integerEnds } from './number-range.ts';

/** Steps above this need a rule for too many remainders. */
const largestStep = 200n;
/** Bounds with no more multiples between them are written out. */
const mostValues = 1_000;

/**
 * The multiples of `step` within the bounds: by remainders, digit after digit, or written out one by one. Undefined for
 * steps that allow neither.
 */
export function multiplesRule(
  b: GrammarBuilder,
  { type, range, step }: { type: 'integer' | 'number'; range: Bounds; step: number },
): RuleElement | undefined {
  if (!Number.isInteger(step)) return listed(b, type, range, step);
  const zeros = /0*$/.exec(String(BigInt(step)))![0].length;
  const divisor = BigInt(step) / 10n ** BigInt(zeros);
  if (divisor > largestStep) return listed(b, type, range, step);
  const { low, high } = integerEnds(range);
  const scale = 10n ** BigInt(zeros);
  const ends = [ceilDivide(low, scale), -ceilDivide(-high, scale)] as const;
  const alternatives = ends[0] <= 0n && ends[1] >= 0n ? [b.literal('0')] : [];
  const tail = b.literal('0'.repeat(zeros));
  const signed = (sign: string, from: bigint, to: bigint): Alternative[] =>
    naturalsBetween(b, from > 0n ? from : 1n, to, Number(divisor)).map((digits) => [
      ...b.literal(sign),
      ...digits,
      ...tail,
    ]);
  alternatives.push(...(signed('', ends[0], ends[1]) as typeof alternatives));
  alternatives.push(...(signed('-', -ends[1], -ends[0]) as typeof alternatives));
  return b.rule(alternatives);
}

/** Doubles that a division finds to be multiples, as checkers of schemas do: 0.29 is none of 0.01. */
function listed(
  b: GrammarBuilder,
  type: 'integer' | 'number',
  range: Bounds,
  step: number,
): RuleElement | undefined {
  const low = Math.max(range.minimum ?? -Infinity, range.exclusiveMinimum ?? -Infinity);
  const high = Math.min(range.maximum ?? Infinity, range.exclusiveMaximum ?? Infinity);
  if (!(high - low < step * mostValues)) return undefined;
  const decimals = /e-(\d+)$/.exec(step.toExponential())?.[1];
  if (Number(decimals ?? 0) > 15) return undefined;
  const values: number[] = [];
  for (let i = Math.floor(low / step); i <= Math.ceil(high / step); i++) {
    values.push(Number((i * step).toPrecision(15)));
  }
  const kept = values.filter(
    (value) =>
      value >= (range.minimum ?? -Infinity) &&
      value <= (range.maximum ?? Infinity) &&
      value > (range.exclusiveMinimum ?? -Infinity) &&
      value < (range.exclusiveMaximum ?? Infinity) &&
      Number.isInteger(value / step) &&
      (type === 'number' || Number.isInteger(value)),
  );
  return b.rule([...new Set(kept)].map((value) => b.literal(JSON.stringify(value))));
}

function ceilDivide(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  return value > quotient * by ? quotient + 1n : quotient;
}
