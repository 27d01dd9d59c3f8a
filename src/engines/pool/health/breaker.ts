import { backoffMs } from '../../../base/backoff.ts';
import type { Clock } from '../../../base/clock.ts';
import type { ApiError } from '../../../core/errors.ts';
import type { Closed } from '../../../core/slot-leases.ts';
import type { WaitingCause } from '../../../core/waiting.ts';

/** Failures in a row of which each may be its request's, until they are taken for the server's. */
const suspicious = 3;
/**
 * How long it is left alone after the first failure, and at most; less where it says that it is well: then the failures may
 * have been those requests' own, and others should not wait for it long.
 */
const pauses = { initialMs: 1_000, maxMs: 30_000 };
const longestWellMs = 4_000;
/**
 * A `retry-after` is held to its end, but for so long at most, or for these shares of the time that is left for what was
 * refused, and of the time that batches have: a mistaken one must not close a server for good, and what waits may have less
 * time than that had. Then one request tries.
 */
const longestAskedMs = 60 * 60_000;
const longestAskedShare = { ofLeft: 1 / 2, ofWindow: 1 / 8 } as const;
/** How long others wait for who tries. */
const laterMs = 2_000;

/** A request that failed. */
export interface RequestFailure {
  /** In monotonic milliseconds. */
  sentAt: number;
  /** Requests in flight there beside it. */
  others: number;
  /** The share of what the server was given at once that it was never seen to work on: so much it may refuse, and take the rest. */
  unverifiedShare: number;
  /** True for a minimal request: a server that fails on it fails on everything. */
  isMinimal?: boolean;
  /** How long it can wait; as long as any if absent. */
  slackMs?: number | undefined;
}

/**
 * Whether one server takes requests at present.
 *
 *   up -> open              it failed for certain; or failures in a row that may
 *                           each be the request's own, and no answer
 *   open -> half-open       a pause is over, twice as long each time: one request tries
 *   open, half-open -> up   a request was answered, well or badly
 *
 * A pause that the server asked for (`retry-after`) is held, whatever is answered meanwhile. It is up again then, unless it
 * asked for a longer one or nothing was answered since the pause before: then one request of a batch tries, and not all at
 * once. Only where it works on others, what it is given at once is cut first (`limit.ts`): it may have places for those, and
 * no more. If it refuses much of what replaces them, too, it meant its rate.
 */
export interface Breaker {
  readonly state: 'up' | 'open' | 'half-open';
  /**
   * What an open one rests on: the server asked for the pause; a failure that was certainly its own; or only several that
   * may each have been a request's, or what another process found.
   */
  readonly reason: 'asked' | 'certain' | 'suspected' | null;
  /** Why it is not up. */
  readonly waiting: WaitingCause | null;
  /** What the server says of itself, where requests fail. */
  reportedHealthy(isWell: boolean): void;
  /** Why it is not up, as was found without a request. */
  setCause(error: ApiError): void;
  /** The server gave an answer: it works. */
  answered(): void;
  /** @returns whether it is open now and was not before */
  failed(error: ApiError, request: RequestFailure): boolean;
  /** Milliseconds until it is half-open; 0 when it is not open. */
  readonly msLeft: number;
  /** What other processes should know: the server itself, whoever asks it, takes nothing for certain, as was found here. */
  readonly openForPeers: Closed | null;
  /**
   * Another process found it open, and tries it first. Its own way there may be what is broken: it is not believed where the
   * server worked last, and else it is a suspicion.
   * @returns whether it is open now and was not before
   */
  applyPeerReport(closed: Closed): boolean;
}

/**
 * @param jitter in [0, 1), so that many processes do not try at the same moment
 * @param windowMs how long batches have
 */
export function createBreaker(clock: Clock, jitter: () => number, windowMs: number): Breaker {
  const longestMs = Math.min(longestAskedMs, Math.max(pauses.maxMs, windowMs * longestAskedShare.ofWindow));
  let askedUntil = Number.NEGATIVE_INFINITY;
  let openUntil: number | null = null;
  let trips = 0;
  let failuresInRow = 0;
  /** When a burst of refusals began, and how many that were sent later may be among them. */
  let refusedAt = Number.NEGATIVE_INFINITY;
  let surplusLeft = 0;
  let cause: WaitingCause | null = null;
  let isCertain = false;
  let isWell = false;
  let works = false;
  /** Whether it answered since it last asked for a pause. */
  let hasAnswered = true;
  let toldUntil = Number.NEGATIVE_INFINITY;

  const now = () => clock.monotonic();
  const msLeft = () => Math.max(0, Math.max(askedUntil, openUntil ?? askedUntil) - now());

  function note({ blame, code, message, upstreamMessage: said }: ApiError): void {
    cause = {
      scope: blame.scope,
      code,
      message,
      ...(said && { upstreamMessage: said }),
      since: cause?.since ?? clock.now(),
    };
  }

  function trip(error: ApiError, certain = error.blame.certain): boolean {
    note(error);
    isCertain = certain;
    if (openUntil !== null && now() < openUntil) return false;
    const mostMs = isWell && !isCertain ? longestWellMs : pauses.maxMs;
    openUntil = now() + backoffMs(++trips, { ...pauses, maxMs: mostMs }, jitter());
    if (isCertain) tell(error, openUntil);
    return true;
  }

  /** Another process may ask with another key. */
  function tell({ blame }: ApiError, until: number): void {
    if (blame.scope === 'replica') toldUntil = until;
  }

  /**
   * Whether it is the first to be refused for long, or was sent before that was, or is one of the surplus: those may have been
   * sent later, when answers on their way left room here and not there.
   */
  function isOfBurst({ sentAt, others, unverifiedShare: surplus }: RequestFailure, pauseMs: number): boolean {
    if (now() - refusedAt <= pauseMs) return sentAt < refusedAt || --surplusLeft >= 0;
    refusedAt = now();
    surplusLeft = others * surplus;
    return true;
  }

  function overloaded(error: ApiError, request: RequestFailure): boolean {
    const { others, slackMs = Number.POSITIVE_INFINITY } = request;
    const wasOpen = msLeft() > 0;
    const wholeMs = (error.retryAfter ?? 0) * 1000;
    const heldMs = Math.max(pauses.maxMs, slackMs * longestAskedShare.ofLeft);
    const askedMs = Math.min(wholeMs, longestMs, heldMs);
    // One that asks for no time at all would be asked again without end.
    if (askedMs > 0) {
      if (isOfBurst(request, askedMs) && others > 0) return false;
      note(error);
      askedUntil = Math.max(askedUntil, now() + askedMs);
      tell(error, now() + askedMs);
      if (wasOpen) return false;
      if (!hasAnswered || askedMs < wholeMs) {
        openUntil = askedUntil;
        isCertain = false;
      }
      hasAnswered = false;
      return true;
    }
    // Where others are being worked on, it has only been given too much; an answer to one of them ends the pause.
    failuresInRow++;
    // Several in a row may each be their own requests' fault, as any other failure.
    const certain = others === 0 || (openUntil !== null && isCertain);
    return (others === 0 || failuresInRow >= suspicious || openUntil !== null) && trip(error, certain);
  }

  function suspected(error: ApiError): boolean {
    return (++failuresInRow >= suspicious || openUntil !== null) && trip(error);
  }

  return {
    get state() {
      if (msLeft() > 0) return 'open';
      return openUntil === null ? 'up' : 'half-open';
    },
    get reason() {
      if (askedUntil > now()) return 'asked';
      if (openUntil === null) return null;
      return isCertain ? 'certain' : 'suspected';
    },
    get waiting() {
      return openUntil !== null || askedUntil > now() ? cause : null;
    },
    get msLeft() {
      return msLeft();
    },
    reportedHealthy(well) {
      isWell = well;
    },
    setCause: note,
    get openForPeers() {
      const ms = toldUntil - now();
      return ms > 0 && cause ? { ms, cause } : null;
    },
    applyPeerReport({ ms, cause: why }) {
      if (msLeft() > 0 || works) return false;
      openUntil = now() + Math.min(ms, longestMs) + laterMs;
      cause = why;
      isCertain = false;
      return true;
    },
    answered() {
      works = true;
      hasAnswered = true;
      failuresInRow = 0;
      openUntil = null;
      toldUntil = Math.min(toldUntil, askedUntil);
      trips = 0;
      if (askedUntil <= now()) cause = null;
    },
    failed(error, request) {
      works = false;
      if (error.code === 'engine_overloaded') return overloaded(error, request);
      return error.blame.certain || request.isMinimal ? trip(error) : suspected(error);
    },
  };
}
