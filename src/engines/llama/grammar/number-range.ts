export interface Bounds {
  minimum?: number | undefined;
  maximum?: number | undefined;
  exclusiveMinimum?: number | undefined;
  exclusiveMaximum?: number | undefined;
}

/** What an open end may reach, so that every number keeps its digits in a double. */
const widest = 10n ** 15n - 1n;

/**
 * The least and the greatest number within the bounds that has `places` digits behind the point, without that point; with
 * negative places, that has so many zeros at its end, without these.
 */
export function scaledEnds(bounds: Bounds, places: number): [low: bigint, high: bigint] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = bounds;
  const lows = [
    ...given(minimum).map((bound) => scaled(bound, places).ceiling),
    ...given(exclusiveMinimum).map((bound) => scaled(bound, places).floor + 1n),
  ];
  const highs = [
    ...given(maximum).map((bound) => scaled(bound, places).floor),
    ...given(exclusiveMaximum).map((bound) => scaled(bound, places).ceiling - 1n),
  ];
  const open = scaled(Number(widest), places).floor;
  const known = {
    low: lows.length === 0 ? undefined : lows.reduce((x, y) => (y > x ? y : x)),
    high: highs.length === 0 ? undefined : highs.reduce((x, y) => (y < x ? y : x)),
  };
  const low = known.low ?? ((known.high ?? 0n) < -open ? known.high! * 10n : -open);
  return [low, known.high ?? (low > open ? low * 10n : open)];
}

export function boundsIn({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Bounds): number[] {
  return [minimum, maximum, exclusiveMinimum, exclusiveMaximum].flatMap(given);
}

function given(bound: number | undefined): number[] {
  return bound === undefined ? [] : [bound];
}

/** A double prints as the shortest digits that read back as itself. */
function scaled(value: number, places: number): { floor: bigint; ceiling: bigint } {
  const [mantissa = '', exponent] = value.toExponential().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const digits = BigInt(whole + fraction);
  const shift = Number(exponent) - fraction.length + places;
  const [by, divisor] = [10n ** BigInt(Math.max(0, shift)), 10n ** BigInt(Math.max(0, -shift))];
  const floor = (digits * by) / divisor - (digits % divisor < 0n ? 1n : 0n);
  return { floor, ceiling: digits % divisor === 0n ? floor : floor + 1n };
}

export function fractionDigits(value: number): number {
  const [mantissa = '', exponent] = value.toExponential().split('e');
  return Math.max(0, (mantissa.split('.')[1]?.length ?? 0) - Number(exponent));
}

export function wholeDigits(value: number): number {
  return String(BigInt(Math.trunc(Math.abs(value)))).length;
}
