import type { Json } from './any-value.ts';
import type { Alternative, Element, GrammarBuilder, RuleElement } from './grammar.ts';
import { type Left, eachDigit, naturalsBetween } from './naturals.ts';

export interface Bounds {
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
}

/** The bounds need more digits than a double tells apart from its neighbours. */
export class BoundsTooFine extends Error {
  constructor() {
    super('The bounds need more digits than a double holds.');
    this.name = 'BoundsTooFine';
  }
}

/** What an open end may reach, so that every number keeps its digits in a double. */
const widest = 10n ** 15n - 1n;

/** Digits behind the point, where the bounds ask for no more: as many as a number without bounds has. */
const usualPlaces = 6;

/** Exactly the integers within the bounds. */
export function integerRange(b: GrammarBuilder, json: Json, bounds: Bounds): RuleElement {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = bounds;
  if ((minimum ?? maximum ?? exclusiveMinimum ?? exclusiveMaximum) === undefined) return json.integer;
  const { low, high } = integerEnds(bounds);
  return b.rule(integersBetween(b, low, high));
}

/** The least and the greatest integer within the bounds; an open end is as far as a double keeps every digit. */
export function integerEnds(bounds: Bounds): { low: bigint; high: bigint } {
  const lows = [
    bounds.minimum !== undefined ? BigInt(Math.ceil(bounds.minimum)) : undefined,
    bounds.exclusiveMinimum !== undefined ? BigInt(Math.floor(bounds.exclusiveMinimum)) + 1n : undefined,
  ].filter((low) => low !== undefined);
  const highs = [
    bounds.maximum !== undefined ? BigInt(Math.floor(bounds.maximum)) : undefined,
    bounds.exclusiveMaximum !== undefined ? BigInt(Math.ceil(bounds.exclusiveMaximum)) - 1n : undefined,
  ].filter((high) => high !== undefined);
  let low = lows.length > 0 ? lows.reduce((x, y) => (y > x ? y : x)) : undefined;
  let high = highs.length > 0 ? highs.reduce((x, y) => (y < x ? y : x)) : undefined;
  low ??= (high ?? 0n) < -widest ? high! * 10n : -widest;
  high ??= low > widest ? low * 10n : widest;
  return { low, high };
}

function integersBetween(b: GrammarBuilder, low: bigint, high: bigint): Alternative[] {
  const negatives = naturalsBetween(b, high < 0n ? -high : 1n, -low);
  return [
    ...naturalsBetween(b, low > 0n ? low : 0n, high),
    ...negatives.map((digits) => [...b.literal('-'), ...digits]),
  ];
}

/** A bound written out in decimal digits. */
interface Decimal {
  whole: bigint;
  /** Digits behind the point, without trailing zeros. */
  fraction: string;
  exclusive: boolean;
}

/** Numbers within the bounds, written as digits with a fraction of limited length and no exponent. */
export function numberRange(b: GrammarBuilder, json: Json, bounds: Bounds): RuleElement {
  const low = tightest(bounds.minimum, bounds.exclusiveMinimum, Math.max);
  const high = tightest(bounds.maximum, bounds.exclusiveMaximum, Math.min);
  if (!low && !high) return json.number;
  if (
    low &&
    high &&
    (low.value > high.value || (low.value === high.value && (low.exclusive || high.exclusive)))
  ) {
    return b.rule([]);
  }
  const alternatives: Alternative[] = [];
  if (!high || high.value >= 0) {
    const from = low && low.value >= 0 ? decimal(low) : { whole: 0n, fraction: '', exclusive: false };
    const to = high
      ? decimal(high)
      : { whole: from.whole > widest ? from.whole * 10n : widest, fraction: '', exclusive: false };
    alternatives.push(...decimalsBetween(b, from, to));
  }
  if (!low || low.value < 0) {
    // Mirrored: the smallest number has the largest magnitude. Zero was the other branch's.
    const from = high && high.value < 0 ? decimal(high) : { whole: 0n, fraction: '', exclusive: true };
    const to = low
      ? decimal(low)
      : { whole: from.whole > widest ? from.whole * 10n : widest, fraction: '', exclusive: false };
    for (const digits of decimalsBetween(b, from, to)) alternatives.push([...b.literal('-'), ...digits]);
  }
  return b.rule(alternatives);
}

function tightest(
  inclusive: number | undefined,
  exclusive: number | undefined,
  pick: (a: number, b: number) => number,
): { value: number; exclusive: boolean } | undefined {
  if (inclusive === undefined && exclusive === undefined) return undefined;
  if (inclusive === undefined) return { value: exclusive!, exclusive: true };
  if (exclusive === undefined) return { value: inclusive, exclusive: false };
  const value = pick(inclusive, exclusive);
  return { value, exclusive: value === exclusive };
}

/** The magnitude of a bound. A double prints as the shortest digits that read back as itself. */
function decimal({ value, exclusive }: { value: number; exclusive: boolean }): Decimal {
  const [mantissa = '', exponent = '0'] = Math.abs(value).toExponential().split('e');
  const digits = mantissa.replace('.', '');
  const point = 1 + Number(exponent);
  const whole = point <= 0 ? '0' : digits.slice(0, point).padEnd(point, '0');
  const fraction =
    point >= digits.length ? '' : '0'.repeat(Math.max(0, -point)) + digits.slice(Math.max(0, point));
  const trimmed = fraction.replace(/0+$/, '');
  if (whole.length + trimmed.length > 300) throw new BoundsTooFine();
  return { whole: BigInt(whole), fraction: trimmed, exclusive };
}

function decimalsBetween(b: GrammarBuilder, low: Decimal, high: Decimal): Alternative[] {
  if (low.whole > high.whole) return [];
  const exclusive = [low, high].filter((end) => end.exclusive);
  const wholeDigits = Math.max(0, ...exclusive.map(({ whole }) => String(whole).length));
  const needed = Math.max(low.fraction.length, high.fraction.length);
  // Near an exclusive bound one more digit must still be told apart by a double.
  const places = Math.max(needed + 1, Math.min(usualPlaces, 15 - wholeDigits));
  if (exclusive.length > 0 && wholeDigits + places > 16) throw new BoundsTooFine();
  const fraction = (above: Decimal | null, below: Decimal | null): Element =>
    fractionBetween(b, places, above, below);
  const natural = (n: bigint): Alternative => b.literal(String(n));
  if (low.whole === high.whole) return [[...natural(low.whole), fraction(low, high)]];
  const middle = naturalsBetween(b, low.whole + 1n, high.whole - 1n);
  return [
    [...natural(low.whole), fraction(low, null)],
    [...natural(high.whole), fraction(null, high)],
    [b.rule(middle), fraction(null, null)],
  ];
}

/**
 * What may stand behind the whole digits: nothing, or a point and at most `places` digits, where the whole digits are those
 * of the bounds that are given.
 */
function fractionBetween(
  b: GrammarBuilder,
  places: number,
  low: Decimal | null,
  high: Decimal | null,
): RuleElement {
  const known = new Map<string, RuleElement>();
  const isWithin = (from: Left, to: Left): boolean =>
    (from === null || (from === '' && !low!.exclusive)) && !(to === '' && high!.exclusive);

  function digits(left: number, from: Left, to: Left): RuleElement {
    const key = `${left},${from},${to}`;
    let rule = known.get(key);
    if (!rule)
      known.set(key, (rule = b.rule([...(isWithin(from, to) ? [[]] : []), ...more(left, from, to)])));
    return rule;
  }

  /** Zeros behind an upper bound that is reached would say the same number again. */
  function more(left: number, from: Left, to: Left): Alternative[] {
    if (left === 0 || to === '') return [];
    return eachDigit(b, from, to, (_, lower, upper) => digits(left - 1, lower, upper));
  }

  const [from, to] = [low && low.fraction, high && high.fraction];
  const behind = more(places, from, to).map((tail) => [...b.literal('.'), ...tail]);
  return b.rule([...(isWithin(from, to) ? [[]] : []), ...behind]);
}
