/** Relative error of a quotient of two inexact doubles. */
const maxError = 2 ** -51;

/** True if `value` is a decimal multiple of `step`: 0.29 of 0.01, though the quotient of the doubles is 28.999999999999996. */
export function isMultiple(value: number, step: number): boolean {
  // Remainders of integers are exact, and their quotients are not.
  if (Number.isSafeInteger(value) && Number.isInteger(step)) return value % step === 0;
  const times = value / step;
  if (!Number.isFinite(times)) return value % step === 0;
  return Math.abs(Math.round(times) - times) <= Math.abs(times) * maxError;
}
