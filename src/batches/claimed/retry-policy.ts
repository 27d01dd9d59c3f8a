import type { ApiError } from '../../core/errors.ts';
import type { RequestOutcomes } from '../../core/request-outcomes.ts';

/** Failures after which a line ends as an error; and failures and refusals together. */
const most = { failures: 3, refusals: 4 } as const;
/** Answers to other requests for each of their failures: with fewer answers the server is in trouble, not the line. */
const answersEach = 20;

/** What became of a line so far. */
export interface Attempts {
  /** Times it was sent and may have had an effect, or was refused while others were answered. */
  made: number;
  /** Failures that are its own. */
  own: number;
  /** Refusals that are its own: its server answered others before and after (`afterRefusal`). */
  refused: number;
  /** Times others were answered between two refusals, whatever caused those. */
  passed: number;
  /** True where its last failure may be the server's. It becomes the line's own once others are answered. */
  isSuspected: boolean;
  /** Its last failure that may be its own, with the outcomes of others until then. */
  last: Seen | null;
  /** Time of its last refusal, in monotonic milliseconds. */
  refusedAt: number;
}

interface Seen extends Pick<RequestOutcomes, 'answers' | 'breaks'> {
  /** In monotonic milliseconds. */
  at: number;
  /** The server's own message. */
  upstreamMessage: string | undefined;
}

export const noAttempts: Attempts = {
  made: 0,
  own: 0,
  refused: 0,
  passed: 0,
  isSuspected: false,
  last: null,
  refusedAt: Number.POSITIVE_INFINITY,
};

type Failure = Pick<ApiError, 'code' | 'blame' | 'upstreamMessage'>;

/**
 * Counts a failure that may be the line's own (reliability.md, F20).
 * @param now monotonic milliseconds
 */
export function afterFailure(
  before: Attempts,
  failure: Failure,
  now: number,
  fared: RequestOutcomes,
): Attempts {
  const settled = settledOwn(before, fared);
  const isOwn = failure.blame.scope === 'request';
  return {
    ...before,
    made: before.made + 1,
    own: settled + (isOwn ? 1 : 0),
    isSuspected: !isOwn,
    last: seen(failure, now, fared),
  };
}

/**
 * Counts a refusal (429, 503, 401), which costs no attempt. A 503 costs one where its server answered others before and after it
 * and refused few of them: gateways answer 503 for a request that their servers fail on.
 * @param now monotonic milliseconds
 */
export function afterRefusal(
  before: Attempts,
  failure: Failure,
  now: number,
  fared: RequestOutcomes,
): Attempts {
  const passed = before.passed + (fared.workedAt >= before.refusedAt ? 1 : 0);
  const refused = { ...before, passed, refusedAt: now };
  if (!mayBeItsOwn(failure)) return refused;
  const isPassed = othersPassed(before, fared);
  const isOwn = isPassed && !isInTrouble(before.last!, fared) ? 1 : 0;
  return {
    ...refused,
    made: before.made + isOwn,
    own: settledOwn(before, fared),
    refused: before.refused + isOwn,
    isSuspected: before.isSuspected && !isPassed,
    last: seen(failure, now, fared),
  };
}

/** Whether it is not sent again. */
export function isSpent({ own, refused, isSuspected }: Attempts): boolean {
  const failures = own + (isSuspected ? 1 : 0);
  return failures >= most.failures || failures + refused >= most.refusals;
}

/** True where the server sent the same message for its failure before. */
export function isSaidAgain({ last }: Attempts, { upstreamMessage }: Failure): boolean {
  return upstreamMessage !== undefined && last?.upstreamMessage === upstreamMessage;
}

/** True where requests that were sent after the line's last failure were answered. Those sent before an outage do not count. */
function othersPassed({ last }: Attempts, { workedAt }: RequestOutcomes): boolean {
  return last !== null && workedAt >= last.at;
}

function settledOwn(attempts: Attempts, fared: RequestOutcomes): number {
  return attempts.own + (attempts.isSuspected && othersPassed(attempts, fared) ? 1 : 0);
}

/** Rate limits, keys and accounts are never the line's fault, nor is a server that was not reached. */
function mayBeItsOwn({ code, blame }: Failure): boolean {
  return code === 'engine_overloaded' && blame.scope === 'replica';
}

/** True where too many other requests failed since, apart from those that failed together with the line. */
function isInTrouble({ answers, breaks }: Seen, fared: RequestOutcomes): boolean {
  const since = fared.breaks - (fared.isBreak ? 1 : 0) - breaks;
  return since * answersEach > fared.answers - answers;
}

function seen({ upstreamMessage }: Failure, at: number, { answers, breaks }: RequestOutcomes): Seen {
  return { at, upstreamMessage, answers, breaks };
}
