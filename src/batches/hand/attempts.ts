import type { ApiError } from '../../core/errors.ts';
import type { Fared } from '../../core/fared.ts';

/** How often a line fails in ways another attempt may mend before it ends as an error; and how often where its server refused it. */
const most = { failures: 3, refusals: 4 } as const;
/** So many answers to others make up for one of them that began to fail: with more failures it is the server that is in trouble. */
const answersEach = 20;

/** What became of a line so far. */
export interface Attempts {
  /** How often it was sent and something may have been done, or it was refused while others got through. */
  made: number;
  /** Failures that are known to be its own. */
  own: number;
  /** Refusals that are: its server took others before and after (`afterRefusal`). */
  refused: number;
  /** How often others got through between two refusals, whoever was to blame for those. */
  passed: number;
  /** Whether it last failed in a way that may have been the server's. Once others get through, the failure was its own. */
  isSuspected: boolean;
  /** When it last failed in a way that may be its own, and how others had fared until then: nobody else would know. */
  last: Seen | null;
  /** When it was refused last, for whatever reason, in monotonic milliseconds. */
  refusedAt: number;
}

interface Seen extends Pick<Fared, 'answers' | 'breaks'> {
  /** In monotonic milliseconds. */
  at: number;
  /** What the server said of itself. */
  said: string | undefined;
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

type Failure = Pick<ApiError, 'code' | 'blame' | 'said'>;

/**
 * Counts a failure that may be the line's own (reliability.md, F20).
 * @param now monotonic milliseconds
 */
export function afterFailure(before: Attempts, failure: Failure, now: number, fared: Fared): Attempts {
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
 * Counts a refusal (429, 503, 401), which is no attempt. Only a 503 is, where its server took others before it and since, and hardly
 * refused any: gateways say so as well of a request that their servers fail on.
 * @param now monotonic milliseconds
 */
export function afterRefusal(before: Attempts, failure: Failure, now: number, fared: Fared): Attempts {
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

/** Whether its server said the same of it before. */
export function isSaidAgain({ last }: Attempts, { said }: Failure): boolean {
  return said !== undefined && last?.said === said;
}

/** What was under way before an outage tells nothing of it: others that were sent since the last failure were answered. */
function othersPassed({ last }: Attempts, { workedAt }: Fared): boolean {
  return last !== null && workedAt >= last.at;
}

function settledOwn(attempts: Attempts, fared: Fared): number {
  return attempts.own + (attempts.isSuspected && othersPassed(attempts, fared) ? 1 : 0);
}

/** A rate, a key and an account are never the line's, and neither is what was not sent. */
function mayBeItsOwn({ code, blame }: Failure): boolean {
  return code === 'engine_overloaded' && blame.scope === 'replica';
}

/** Whether others failed since as well, apart from those that failed together with it. */
function isInTrouble({ answers, breaks }: Seen, fared: Fared): boolean {
  const since = fared.breaks - (fared.isBreak ? 1 : 0) - breaks;
  return since * answersEach > fared.answers - answers;
}

function seen({ said }: Failure, at: number, { answers, breaks }: Fared): Seen {
  return { at, said, answers, breaks };
}
