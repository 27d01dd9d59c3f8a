/** What a quotient of two doubles, none of them exact, may be off, as a share of it. */
const inexact = 2 ** -51;

/** Whether a number is a multiple of `step`, as both are written: 0.29 is one of 0.01, though divided it is 28.999999999999996. */
export function isMultiple(value: number, step: number): boolean {
  const times = value / step;
  return Math.abs(Math.round(times) - times) <= Math.abs(times) * inexact;
}
