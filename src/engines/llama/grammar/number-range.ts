export interface Bounds {
  minimum?: number | undefined;
  maximum?: number | undefined;
  exclusiveMinimum?: number | undefined;
  exclusiveMaximum?: number | undefined;
}

/** What an open end may reach, so that every number keeps its digits in a double. */
const widest = 10 ** 15 - 1;

/**
 * The least and the greatest number within the bounds that has `places` digits behind the point, without that point; with
 * negative places, that has so many zeros at its end, without these.
 */
export function scaledEnds(bounds: Bounds, places: number): [low: bigint, high: bigint] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = bounds;
  const lows = [
    ...given(minimum).map((bound) => -floor(-bound, places)),
    ...given(exclusiveMinimum).map((bound) => floor(bound, places) + 1n),
  ];
  const highs = [
    ...given(maximum).map((bound) => floor(bound, places)),
    ...given(exclusiveMaximum).map((bound) => -floor(-bound, places) - 1n),
  ];
  const open = floor(widest, places);
  const [high] = highs.toSorted((x, y) => (x < y ? -1 : 1));
  const low = lows.toSorted((x, y) => (x < y ? 1 : -1))[0] ?? ((high ?? 0n) < -open ? high! * 10n : -open);
  return [low, high ?? (low > open ? low * 10n : open)];
}

export function boundsIn({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Bounds): number[] {
  return [minimum, maximum, exclusiveMinimum, exclusiveMaximum].flatMap(given);
}

function given(bound: number | undefined): number[] {
  return bound === undefined ? [] : [bound];
}

function floor(value: number, places: number): bigint {
  const { digits, exponent } = decimal(value);
  const shift = exponent + places;
  if (shift >= 0) return digits * 10n ** BigInt(shift);
  const divisor = 10n ** BigInt(-shift);
  return digits / divisor - (digits % divisor < 0n ? 1n : 0n);
}

/** A double prints as the shortest digits that read back as itself. */
export function decimal(value: number): { digits: bigint; exponent: number } {
  const [mantissa = '', exponent] = value.toExponential().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}

export function fractionDigits(value: number): number {
  return Math.max(0, -decimal(value).exponent);
}

export function wholeDigits(value: number): number {
  return String(BigInt(Math.trunc(Math.abs(value)))).length;
}
