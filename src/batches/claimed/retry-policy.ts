import type { ApiError } from '../../core/errors.ts';
import type { FailedAttempt } from '../../core/line.ts';
import type { RequestOutcomes } from '../../core/request-outcomes.ts';

/** Failures after which a line ends as an error, and failures and refusals together. */
const limits = { failures: 3, refusals: 4 } as const;
/** Answers that other requests need for each of their failures; with fewer, the server is at fault and not the line. */
const answersPerFailure = 20;

/** History of a line that failed. */
export interface Attempts {
  /** Times the line was sent and may have had an effect, or was refused while others were answered. */
  made: number;
  /** Failures caused by the line. */
  own: number;
  /** Refusals caused by the line: its server answered others before and after (`afterRefusal`). */
  refused: number;
  /** Times that the line backed off alone after a refusal, while its model took other requests. */
  pauses: number;
  /** True if the last failure may be the server's. It counts as the line's own once others are answered. */
  isSuspected: boolean;
  /** Last failure that may be the line's own, with the outcomes of other requests until then. */
  last: LastFailure | null;
  /** Monotonic milliseconds of the last refusal. */
  refusedAt: number;
  /** Last failures and refusals, which are stored with the result. */
  failures: readonly FailedAttempt[];
}

interface LastFailure extends Pick<RequestOutcomes, 'answers' | 'breaks'> {
  /** Monotonic milliseconds. */
  at: number;
  upstreamMessage: string | undefined;
}

export const noAttempts: Attempts = {
  made: 0,
  own: 0,
  refused: 0,
  pauses: 0,
  isSuspected: false,
  last: null,
  refusedAt: Number.POSITIVE_INFINITY,
  failures: [],
};

type Failure = Pick<ApiError, 'code' | 'blame' | 'upstreamMessage'>;

/** Counts a failure that may be the line's own (reliability.md, F20). @param now monotonic milliseconds */
export function afterFailure(
  before: Attempts,
  failure: Failure,
  now: number,
  outcomes: RequestOutcomes,
): Attempts {
  const isOwn = failure.blame.scope === 'request';
  return {
    ...before,
    made: before.made + 1,
    own: ownFailures(before, outcomes) + (isOwn ? 1 : 0),
    isSuspected: !isOwn,
    last: toLastFailure(failure, now, outcomes),
  };
}

/**
 * Counts a refusal (429, 503, 401), which costs no attempt. A 503 costs one if its server answered others before and after it
 * and refused few: gateways answer 503 for a request that their servers fail on.
 * @param now monotonic milliseconds
 */
export function afterRefusal(
  before: Attempts,
  failure: Failure,
  now: number,
  outcomes: RequestOutcomes,
): Attempts {
  const refused = { ...before, refusedAt: now };
  // Rate limits, keys, accounts and unreachable servers are never the line's fault.
  if (failure.code !== 'engine_overloaded' || failure.blame.scope !== 'replica') return refused;
  const areAnswered = wereOthersAnswered(before, outcomes);
  const isOwn = areAnswered && !isServerInTrouble(before.last!, outcomes) ? 1 : 0;
  return {
    ...refused,
    made: before.made + isOwn,
    own: ownFailures(before, outcomes),
    refused: before.refused + isOwn,
    isSuspected: before.isSuspected && !areAnswered,
    last: toLastFailure(failure, now, outcomes),
  };
}

/** True if another request was sent and answered since the last refusal of the line, whatever caused that. */
export function isPassed({ refusedAt }: Attempts, { workedAt }: RequestOutcomes): boolean {
  return workedAt >= refusedAt;
}

/** True if the line has no attempt left. */
export function isSpent({ own, refused, isSuspected }: Attempts): boolean {
  const failures = own + (isSuspected ? 1 : 0);
  return failures >= limits.failures || failures + refused >= limits.refusals;
}

/** True if the upstream sent the same message for the line's previous failure. */
export function isMessageRepeated({ last }: Attempts, { upstreamMessage }: Failure): boolean {
  return upstreamMessage !== undefined && last?.upstreamMessage === upstreamMessage;
}

/** True if requests that were sent after the line's last failure were answered. Those sent before an outage do not count. */
function wereOthersAnswered({ last }: Attempts, { workedAt }: RequestOutcomes): boolean {
  return last !== null && workedAt >= last.at;
}

function ownFailures(attempts: Attempts, outcomes: RequestOutcomes): number {
  return attempts.own + (attempts.isSuspected && wereOthersAnswered(attempts, outcomes) ? 1 : 0);
}

/** True if too many other requests have failed since, not counting those that failed together with the line. */
function isServerInTrouble({ answers, breaks }: LastFailure, outcomes: RequestOutcomes): boolean {
  const since = outcomes.breaks - (outcomes.isBreak ? 1 : 0) - breaks;
  return since * answersPerFailure > outcomes.answers - answers;
}

function toLastFailure(
  { upstreamMessage }: Failure,
  at: number,
  { answers, breaks }: RequestOutcomes,
): LastFailure {
  return { at, upstreamMessage, answers, breaks };
}
