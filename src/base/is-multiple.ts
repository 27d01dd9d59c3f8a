/** Relative error of a quotient of two inexact doubles. */
const maxError = 2 ** -51;

/** True if `value` is a decimal multiple of `step`: 0.29 of 0.01, though the quotient of the doubles is 28.999999999999996. */
export function isMultiple(value: number, step: number): boolean {
  const times = value / step;
  if (!Number.isFinite(times)) return value % step === 0;
  return Math.abs(Math.round(times) - times) <= Math.abs(times) * maxError;
}
