/** Exponential back-off: the first pause, and the maximum up to which each next one doubles. */
export interface BackoffOptions {
  initialMs: number;
  maxMs: number;
}

/**
 * Milliseconds to wait before the next attempt.
 * @param attempt number of failed attempts, from 1
 * @param random jitter in [0, 1): shortens the pause to between half and all of it; none by default
 */
export function backoffMs(attempt: number, { initialMs, maxMs }: BackoffOptions, random = 1): number {
  return Math.round(Math.min(maxMs, initialMs * 2 ** (attempt - 1)) * (0.5 + random / 2));
}
