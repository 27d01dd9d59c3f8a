import type { Alternative, Element, GrammarBuilder, RuleElement } from './grammar.ts';
import { tidy } from './regular/ranges.ts';

/** What is left of a bound, digit by digit, while it binds; null as soon as it does not. */
export type Left = string | null;

/** Digit strings without leading zeros from `low` to `high`, at least 0, that `divisor` divides. */
export function naturalsBetween(b: GrammarBuilder, low: bigint, high: bigint, divisor = 1): Alternative[] {
  if (low > high) return [];
  const known = new Map<string, RuleElement>();

  function digits(left: number, remainder: number, from: Left, to: Left): RuleElement {
    const key = `${left},${remainder},${from},${to}`;
    let rule = known.get(key);
    if (rule) return rule;
    if (left === 0) rule = b.rule(remainder === 0 ? [[]] : []);
    else {
      const rest = (digit: number, lower: Left, upper: Left): Element =>
        digits(left - 1, (remainder * 10 + digit) % divisor, lower, upper);
      rule = b.rule(eachDigit(b, from, to, rest));
    }
    known.set(key, rule);
    return rule;
  }

  const [shortest, longest] = [String(low).length, String(high).length];
  return Array.from({ length: longest - shortest + 1 }, (_, i) => {
    const length = shortest + i;
    const from = length === shortest ? String(low) : `1${'0'.repeat(length - 1)}`;
    const to = length === longest ? String(high) : '9'.repeat(length);
    return [digits(length, 0, from, to)];
  });
}

/** One digit between the bounds and what may follow it; digits with the same rest are written as one class. */
export function eachDigit(
  b: GrammarBuilder,
  from: Left,
  to: Left,
  restOf: (digit: number, from: Left, to: Left) => Element,
): Alternative[] {
  const [first, last] = [Number(from?.[0] ?? 0), Number(to?.[0] ?? 9)];
  const byRest = new Map<Element, number[]>();
  for (let digit = first; digit <= last; digit++) {
    const lower = from !== null && digit === first ? from.slice(1) : null;
    const upper = to !== null && digit === last ? to.slice(1) : null;
    const rest = restOf(digit, lower, upper);
    const same = byRest.get(rest);
    if (same) same.push(digit);
    else byRest.set(rest, [digit]);
  }
  return [...byRest].map(([rest, digits]) => [
    b.chars(...tidy(digits.map((digit) => [0x30 + digit, 0x30 + digit]))),
    rest,
  ]);
}
