import type { Blame } from '../../core/errors.ts';

/** How often a line fails in ways another attempt may mend before it ends as an error. */
const most = 3;

/** What became of a line so far. */
export interface Attempts {
  /** How often it was sent and something may have been done. */
  made: number;
  /** Failures that are known to be its own. */
  own: number;
  /**
   * When it last failed in a way that may have been the server's, in monotonic milliseconds; null where it did not. Once a
   * request of its model was answered that was sent since, others get through, and the failure was its own. What was under
   * way before an outage tells nothing of it.
   */
  suspected: number | null;
}

/** Refusals of a line that were its server's, as far as each of them tells. */
export interface Refused {
  /** When it was refused last, in monotonic milliseconds. */
  at: number;
  /** How often requests got through that were sent between two of its refusals. */
  passed: number;
}

export const noAttempts: Attempts = { made: 0, own: 0, suspected: null };

/**
 * Counts a failure that may be the line's own (reliability.md, F20).
 * @param now monotonic milliseconds
 * @param workedAt when the latest of the model's requests was sent that were answered
 */
export function afterFailure(
  { made, own, suspected }: Attempts,
  blame: Blame,
  now: number,
  workedAt: number,
): Attempts {
  const known = suspected !== null && workedAt >= suspected ? own + 1 : own;
  return {
    made: made + 1,
    own: blame.scope === 'request' ? known + 1 : known,
    suspected: blame.scope === 'request' ? null : now,
  };
}

/**
 * Counts a failure that is its server's (429, 503, 401): of no attempts.
 * @param now monotonic milliseconds
 * @param workedAt when the latest of the model's requests was sent that were answered
 */
export function afterRefusal(before: Refused | undefined, now: number, workedAt: number): Refused {
  const isPassed = before !== undefined && workedAt >= before.at;
  return { at: now, passed: (before?.passed ?? 0) + (isPassed ? 1 : 0) };
}

/** Whether it is not sent again. */
export function isSpent({ own, suspected }: Attempts): boolean {
  return own + (suspected === null ? 0 : 1) >= most;
}
