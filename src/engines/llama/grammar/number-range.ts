export interface Bounds {
  minimum?: number | undefined;
  maximum?: number | undefined;
  exclusiveMinimum?: number | undefined;
  exclusiveMaximum?: number | undefined;
}

/** Bound of an open end, so that a double keeps all digits. */
const openEnd = 10 ** 15 - 1;

/**
 * Smallest and largest number within the bounds with `places` digits after the point, scaled to an integer. With negative
 * places, numbers with that many zeros at the end, scaled down.
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
  const open = floor(openEnd, places);
  const [high] = highs.toSorted((x, y) => (x < y ? -1 : 1));
  const low = lows.toSorted((x, y) => (x < y ? 1 : -1))[0] ?? ((high ?? 0n) < -open ? high! * 10n : -open);
  return [low, high ?? (low > open ? low * 10n : open)];
}

/** Bounds with `places` digits after the point: exclusive ones become inclusive where a double cannot hold the next number. */
export function distinguishable(bounds: Bounds, places: number): Bounds {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = bounds;
  const isTooFine = (bound: number | undefined) => bound !== undefined && wholeDigits(bound) + places > 16;
  return {
    ...(isTooFine(exclusiveMinimum)
      ? { minimum: Math.max(exclusiveMinimum!, minimum ?? -Infinity) }
      : { minimum, exclusiveMinimum }),
    ...(isTooFine(exclusiveMaximum)
      ? { maximum: Math.min(exclusiveMaximum!, maximum ?? Infinity) }
      : { maximum, exclusiveMaximum }),
  };
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

/** Decimal digits of a double: the shortest that read back as the same double. */
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
