const units = ['', ' thousand', ' million', ' billion', ' trillion'] as const;

/** A count for people: `943 thousand`, `7.25 billion`. */
export function showCount(count: number): string {
  let value = count;
  let unit = 0;
  for (; value >= 999.5 && unit < units.length - 1; unit++) value /= 1000;
  return unit === 0 ? String(count) : `${value.toPrecision(3)}${units[unit]}`;
}
