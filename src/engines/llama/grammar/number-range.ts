export interface Bounds {
  minimum?: number | undefined;
  maximum?: number | undefined;
  exclusiveMinimum?: number | undefined;
  exclusiveMaximum?: number | undefined;
}

/** What an open end may reach, so that every number keeps its digits in a double. */
const widest = 10n ** 15n - 1n;

/** The least and the greatest number within the bounds that has `places` digits behind the point, without that point. */
export function scaledEnds(bounds: Bounds, places: number): [low: bigint, high: bigint] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = bounds;
  const all = (value: number | undefined, change: bigint) =>
    value === undefined ? [] : [scaled(value, places) + change];
  const lows = [...all(minimum, 0n), ...all(exclusiveMinimum, 1n)];
  const highs = [...all(maximum, 0n), ...all(exclusiveMaximum, -1n)];
  const open = widest * 10n ** BigInt(places);
  const known = {
    low: lows.length === 0 ? undefined : lows.reduce((x, y) => (y > x ? y : x)),
    high: highs.length === 0 ? undefined : highs.reduce((x, y) => (y < x ? y : x)),
  };
  const low = known.low ?? ((known.high ?? 0n) < -open ? known.high! * 10n : -open);
  return [low, known.high ?? (low > open ? low * 10n : open)];
}

/** The least and the greatest whole number within the bounds. */
export function integerEnds(bounds: Bounds): [low: bigint, high: bigint] {
  const places = Math.max(0, ...boundsIn(bounds).map(fractionDigits));
  const [low, high] = scaledEnds(bounds, places);
  const scale = 10n ** BigInt(places);
  return [ceilDivide(low, scale), -ceilDivide(-high, scale)];
}

export function boundsIn({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Bounds): number[] {
  return [minimum, maximum, exclusiveMinimum, exclusiveMaximum].filter((bound) => bound !== undefined);
}

/** A double prints as the shortest digits that read back as itself. */
function scaled(value: number, places: number): bigint {
  const [mantissa = '', exponent] = value.toExponential().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return BigInt(whole + fraction) * 10n ** BigInt(Number(exponent) - fraction.length + places);
}

export function fractionDigits(value: number): number {
  const [mantissa = '', exponent] = value.toExponential().split('e');
  return Math.max(0, (mantissa.split('.')[1]?.length ?? 0) - Number(exponent));
}

export function wholeDigits(value: number): number {
  return String(BigInt(Math.trunc(Math.abs(value)))).length;
}

export function ceilDivide(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  return value > quotient * by ? quotient + 1n : quotient;
}
