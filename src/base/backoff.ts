/** Pauses between tries: the first, and what they double up to. */
export interface BackoffOptions {
  initialMs: number;
  maxMs: number;
}

/**
 * How long to wait before trying again, in milliseconds.
 * @param attempt what failed, counted from 1
 * @param random in [0, 1): between half of the pause and all of it, so that many do not try at the same moment. All of it when
 *   absent
 */
export function backoffMs(attempt: number, { initialMs, maxMs }: BackoffOptions, random = 1): number {
  const pause = Math.min(maxMs, initialMs * 2 ** (attempt - 1));
  return Math.round(pause * (0.5 + random / 2));
}
