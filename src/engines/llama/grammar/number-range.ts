import type { Json } from './any-value.ts';
import type { Alternative, Element, GrammarBuilder, RuleElement } from './grammar.ts';

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

/** Exactly the integers within the bounds. */
export function integerRange(b: GrammarBuilder, json: Json, bounds: Bounds): RuleElement {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = bounds;
  if ((minimum ?? maximum ?? exclusiveMinimum ?? exclusiveMaximum) === undefined) return json.integer;
  const { low, high } = integerEnds(bounds);
  return b.rule(integersBetween(b, json.digit, low, high));
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

function integersBetween(b: GrammarBuilder, digit: Element, low: bigint, high: bigint): Alternative[] {
  const alternatives: Alternative[] = [];
  if (high >= 0n) alternatives.push(...naturalsBetween(b, digit, low > 0n ? low : 0n, high));
  if (low < 0n) {
    const negatives = naturalsBetween(b, digit, high < 0n ? -high : 1n, -low);
    alternatives.push(...negatives.map((digits) => [...b.literal('-'), ...digits]));
  }
  return alternatives;
}

function naturalsBetween(b: GrammarBuilder, digit: Element, low: bigint, high: bigint): Alternative[] {
  if (low > high) return [];
  const alternatives: Alternative[] = [];
  const [shortest, longest] = [String(low).length, String(high).length];
  for (let length = shortest; length <= longest; length++) {
    const from = length === shortest ? String(low) : `1${'0'.repeat(length - 1)}`;
    const to = length === longest ? String(high) : '9'.repeat(length);
    alternatives.push(...digitsBetween(b, digit, from, to));
  }
  return alternatives;
}

/** Digit strings of one length from `from` to `to`. */
function digitsBetween(b: GrammarBuilder, digit: Element, from: string, to: string): Alternative[] {
  if (from === '') return [[]];
  const free = from.length - 1;
  if (/^0*$/.test(from.slice(1)) && /^9*$/.test(to.slice(1))) {
    return [[digitClass(b, Number(from[0]), Number(to[0])), ...Array<Element>(free).fill(digit)]];
  }
  if (from[0] === to[0]) {
    return digitsBetween(b, digit, from.slice(1), to.slice(1)).map((rest) => [
      ...b.literal(from[0]!),
      ...rest,
    ]);
  }
  const lowest = from[0] + '9'.repeat(free);
  const highest = to[0] + '0'.repeat(free);
  const alternatives = [...digitsBetween(b, digit, from, lowest), ...digitsBetween(b, digit, highest, to)];
  const between = [Number(from[0]) + 1, Number(to[0]) - 1] as const;
  if (between[0] <= between[1]) {
    alternatives.push([digitClass(b, ...between), ...Array<Element>(free).fill(digit)]);
  }
  return alternatives;
}

function digitClass(b: GrammarBuilder, low: number, high: number): Element {
  return low === high ? b.literal(String(low))[0]! : b.chars([0x30 + low, 0x30 + high]);
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
    alternatives.push(...decimalsBetween(b, json.digit, from, to));
  }
  if (!low || low.value < 0) {
    // Mirrored: the smallest number has the largest magnitude. Zero was the other branch's.
    const from = high && high.value < 0 ? decimal(high) : { whole: 0n, fraction: '', exclusive: true };
    const to = low
      ? decimal(low)
      : { whole: from.whole > widest ? from.whole * 10n : widest, fraction: '', exclusive: false };
    for (const digits of decimalsBetween(b, json.digit, from, to))
      alternatives.push([...b.literal('-'), ...digits]);
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

function decimalsBetween(b: GrammarBuilder, digit: Element, low: Decimal, high: Decimal): Alternative[] {
  if (low.whole > high.whole) return [];
  const wholeDigits = String(high.whole).length;
  const needed = Math.max(low.fraction.length, high.fraction.length);
  // Near an exclusive bound one more digit must still be told apart by a double.
  const places = Math.max(needed + 1, Math.min(6, 15 - wholeDigits));
  if ((low.exclusive || high.exclusive) && wholeDigits + places > 16) throw new BoundsTooFine();
  const fractions = createFractions(b, digit, places);
  const natural = (n: bigint): Alternative => b.literal(String(n));
  if (low.whole === high.whole)
    return fractions.between(low, high).map((rest) => [...natural(low.whole), ...rest]);
  const alternatives = [
    ...fractions.from(low).map((rest) => [...natural(low.whole), ...rest]),
    ...fractions.upTo(high).map((rest) => [...natural(high.whole), ...rest]),
  ];
  const middle = naturalsBetween(b, digit, low.whole + 1n, high.whole - 1n);
  if (middle.length > 0) alternatives.push([b.rule(middle), fractions.any]);
  return alternatives;
}

/** What may stand behind the whole digits: nothing, or a point and at most `places` digits. */
function createFractions(b: GrammarBuilder, digit: Element, places: number) {
  const digits = (n: number): RuleElement => b.repeat([digit], 0, Math.max(0, n));
  const point = b.literal('.');
  const behindPoint = (tails: Alternative[]): Alternative[] => tails.map((tail) => [...point, ...tail]);

  /** Digits d with 0.d >= 0.bound, or > when exclusive. `left` counts the digits that may still come. */
  function above(bound: string, exclusive: boolean, left: number): Alternative[] {
    if (bound === '') {
      if (!exclusive) return [[], [digit, digits(left - 1)]];
      // Any digits but zeros alone.
      const tails: Alternative[] = [];
      for (let zeros = 0; zeros < left; zeros++) {
        tails.push([...b.literal('0'.repeat(zeros)), b.chars([0x31, 0x39]), digits(left - zeros - 1)]);
      }
      return tails;
    }
    const first = Number(bound[0]);
    const tails = above(bound.slice(1), exclusive, left - 1).map((tail) => [
      ...b.literal(bound[0]!),
      ...tail,
    ]);
    if (first < 9) tails.push([digitClass(b, first + 1, 9), digits(left - 1)]);
    return tails;
  }

  /** Digits d with 0.d <= 0.bound, or < when exclusive. `bound` has no trailing zeros, so each shorter start is less. */
  function below(bound: string, exclusive: boolean, left: number): Alternative[] {
    if (bound === '') return exclusive ? [] : [[]];
    const first = Number(bound[0]);
    const tails: Alternative[] = [[]];
    if (first > 0) tails.push([digitClass(b, 0, first - 1), digits(left - 1)]);
    tails.push(
      ...below(bound.slice(1), exclusive, left - 1).map((tail) => [...b.literal(bound[0]!), ...tail]),
    );
    return tails;
  }

  function within(
    low: Decimal,
    high: Decimal,
    lowDigits: string,
    highDigits: string,
    left: number,
  ): Alternative[] {
    if (lowDigits === '' && !low.exclusive) return below(highDigits, high.exclusive, left);
    if (highDigits === '') return [];
    const [first, last] = [Number(lowDigits[0] ?? '0'), Number(highDigits[0])];
    const behind = (tails: Alternative[], d: number): Alternative[] =>
      tails.map((tail) => [...b.literal(String(d)), ...tail]);
    const [lowRest, highRest] = [lowDigits.slice(1), highDigits.slice(1)];
    if (first === last) return behind(within(low, high, lowRest, highRest, left - 1), first);
    if (first > last) return [];
    const tails = behind(above(lowRest, low.exclusive, left - 1), first);
    if (first + 1 <= last - 1) tails.push([digitClass(b, first + 1, last - 1), digits(left - 1)]);
    tails.push(...behind(below(highRest, high.exclusive, left - 1), last));
    return tails;
  }

  const nonEmpty = (tails: Alternative[]): Alternative[] => tails.filter((tail) => tail.length > 0);
  const whenEmpty = (tails: Alternative[]): Alternative[] =>
    tails.length > nonEmpty(tails).length ? [[]] : [];
  // A number may end at the whole digits exactly where the empty digit string is allowed.
  const finish = (tails: Alternative[]): Alternative[] => [
    ...whenEmpty(tails),
    ...behindPoint(nonEmpty(tails)),
  ];
  return {
    any: b.optional([...point, b.repeat([digit], 1, Math.max(1, places))]),
    from: (low: Decimal) => finish(above(low.fraction, low.exclusive, places)),
    upTo: (high: Decimal) => finish(below(high.fraction, high.exclusive, places)),
    between: (low: Decimal, high: Decimal) => finish(within(low, high, low.fraction, high.fraction, places)),
  };
}
