import type { Alternative, Element, GrammarBuilder, RuleElement } from './grammar.ts';
import { normalizeRanges } from './regular/ranges.ts';

/** Remaining digits of a bound; null once the digits so far are within it. */
type Rest = string | null;

/**
 * Digits of the numbers from `low` to `high`, at least 0, that `divisor` divides, without leading zeros. The last `places`
 * digits follow a point; zeros at the end are optional.
 */
function naturalsBetween(
  b: GrammarBuilder,
  [low, high]: readonly [low: bigint, high: bigint],
  { divisor, places }: { divisor: number; places: number },
): Alternative[] {
  if (low > high) return [];
  const known = new Map<string, RuleElement>();

  function digits(left: number, remainder: number, from: Rest, to: Rest): RuleElement {
    const key = `${left},${remainder},${from},${to}`;
    let rule = known.get(key);
    if (rule) return rule;
    const mayEnd = left <= places && (remainder * 10 ** left) % divisor === 0 && !/[1-9]/.test(from ?? '');
    const rest = (digit: number, lower: Rest, upper: Rest): Element =>
      digits(left - 1, (remainder * 10 + digit) % divisor, lower, upper);
    const point = left === places ? b.literal('.') : [];
    const more = left === 0 ? [] : eachDigit(b, from, to, rest).map((one) => [...point, ...one]);
    known.set(key, (rule = b.rule([...(mayEnd ? [[]] : []), ...more])));
    return rule;
  }

  const [shortest, longest] = [low, high].map((end) => Math.max(String(end).length, places + 1));
  return Array.from({ length: longest! - shortest! + 1 }, (_, i) => {
    const length = shortest! + i;
    const from = i === 0 ? String(low).padStart(length, '0') : `1${'0'.repeat(length - 1)}`;
    const to = length === longest ? String(high).padStart(length, '0') : '9'.repeat(length);
    return [digits(length, 0, from, to)];
  });
}

/** Numbers from `low` to `high`, also negative ones. Negative `places` add zeros at the end. */
export function numbersBetween(
  b: GrammarBuilder,
  [low, high]: readonly [low: bigint, high: bigint],
  { divisor = 1, places = 0 }: { divisor?: number; places?: number } = {},
): Alternative[] {
  const zeros = b.literal('0'.repeat(Math.max(0, -places)));
  const signed = (sign: string, least: bigint, from: bigint, to: bigint): Alternative[] =>
    naturalsBetween(b, [from > least ? from : least, to], { divisor, places: Math.max(0, places) }).map(
      (digits) => [...b.literal(sign), ...digits, ...zeros],
    );
  const zero = zeros.length > 0 && low <= 0n && high >= 0n ? [b.literal('0')] : [];
  return [...zero, ...signed('', zeros.length > 0 ? 1n : 0n, low, high), ...signed('-', 1n, -high, -low)];
}

/** One digit within the bounds, and its rest. Digits with the same rest form one class. */
function eachDigit(
  b: GrammarBuilder,
  from: Rest,
  to: Rest,
  restOf: (digit: number, from: Rest, to: Rest) => Element,
): Alternative[] {
  const [first, last] = [Number(from?.[0] ?? 0), Number(to?.[0] ?? 9)];
  const choices = Array.from({ length: last - first + 1 }, (_, i) => first + i);
  const byRest = Map.groupBy(choices, (digit) => {
    const lower = from !== null && digit === first ? from.slice(1) : null;
    const upper = to !== null && digit === last ? to.slice(1) : null;
    return restOf(digit, lower, upper);
  });
  return [...byRest].map(([rest, digits]) => [
    b.chars(...normalizeRanges(digits.map((digit) => [0x30 + digit, 0x30 + digit]))),
    rest,
  ]);
}
