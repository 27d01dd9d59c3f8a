import { backoffMs } from '../../../base/backoff.ts';
import type { Clock } from '../../../base/clock.ts';
import type { ApiError } from '../../../core/errors.ts';
import type { OpenBreaker } from '../../../core/slot-leases.ts';
import type { WaitingCause } from '../../../core/waiting.ts';

/** Ambiguous failures in a row that count as the server's fault. */
const maxAmbiguousFailures = 3;
const backoff = { initialMs: 1_000, maxMs: 30_000 };
/** Longest back-off after ambiguous failures of a server that reports itself healthy: the requests may be at fault. */
const maxHealthyMs = 4_000;
/**
 * Limits of a `retry-after`, because a mistaken value must not close a server for good: in milliseconds, as a share of the time
 * left to the refused request, and as a share of the batches' window. After that time, one request tries.
 */
const maxRetryAfterMs = 60 * 60_000;
const maxRetryAfterShare = { ofSlack: 1 / 2, ofWindow: 1 / 8 } as const;
/** Head start of the process that found a server unavailable, before its peers try. */
const peerDelayMs = 2_000;

export interface RequestFailure {
  /** Monotonic milliseconds. */
  sentAt: number;
  /** Other requests in flight at the server. */
  others: number;
  /** Share of the load beyond what the server was seen to handle concurrently. It may refuse this share and take the rest. */
  unverifiedShare: number;
  /** True for a minimal request: a server that fails on it fails on everything. */
  isMinimal?: boolean;
  /** Milliseconds that the request can wait; unlimited if absent. */
  slackMs?: number | undefined;
}

export type Breaker = ReturnType<typeof createBreaker>;

/**
 * Circuit breaker of one server.
 *
 *   up -> open              a failure that is certainly the server's, or several
 *                           ambiguous ones in a row
 *   open -> half-open       the back-off is over, doubled each time: one request tries
 *   open, half-open -> up   a request was answered, successfully or not
 *
 * A `retry-after` is kept whatever is answered meanwhile. When it is over, the breaker is up again, unless the pause was cut
 * short or nothing was answered since the previous one: then it is half-open. A refusal among other requests in flight
 * first lowers the concurrency (`concurrency-limit.ts`), because the server may only lack slots. If it then refuses much of
 * the reduced load too, it limits its rate.
 * @param jitter in [0, 1), so that processes do not try at the same moment
 * @param windowMs shortest window of the batches
 */
export function createBreaker(clock: Clock, jitter: () => number, windowMs: number) {
  const maxPauseMs = Math.min(
    maxRetryAfterMs,
    Math.max(backoff.maxMs, windowMs * maxRetryAfterShare.ofWindow),
  );
  let retryAt = Number.NEGATIVE_INFINITY;
  let openUntil: number | null = null;
  let trips = 0;
  let failuresInRow = 0;
  /** Monotonic start of a burst of refusals, and the number of later requests that still count as part of it. */
  let burstAt = Number.NEGATIVE_INFINITY;
  let burstLeft = 0;
  let cause: WaitingCause | null = null;
  let isCertain = false;
  let isHealthy = false;
  /** True if the last outcome of a request here was an answer. */
  let lastAnswered = false;
  let answeredSinceRetryAfter = true;
  /** Monotonic milliseconds until which peers get this finding. */
  let openForPeersUntil = Number.NEGATIVE_INFINITY;

  const now = () => clock.monotonic();
  const msLeft = () => Math.max(0, Math.max(retryAt, openUntil ?? retryAt) - now());

  function setCause({ blame: { scope }, code, message, upstreamMessage }: ApiError): void {
    const since = cause?.since ?? clock.now();
    cause = { scope, code, message, ...(upstreamMessage && { upstreamMessage }), since };
  }

  function trip(error: ApiError, certain = error.blame.certain): boolean {
    setCause(error);
    isCertain = certain;
    if (openUntil !== null && now() < openUntil) return false;
    const maxMs = isHealthy && !isCertain ? maxHealthyMs : backoff.maxMs;
    openUntil = now() + backoffMs(++trips, { ...backoff, maxMs }, jitter());
    if (isCertain) reportToPeers(error, openUntil);
    return true;
  }

  /** Peers may use another account, so only failures of the server itself concern them. */
  function reportToPeers({ blame }: ApiError, until: number): void {
    if (blame.scope === 'replica') openForPeersUntil = until;
  }

  /**
   * True for the first refusal in a long time, for requests sent before it, and for as many later ones as were unverified: they
   * may have been sent when earlier answers had freed slots here but not yet at the server.
   */
  function isInBurst({ sentAt, others, unverifiedShare }: RequestFailure, pauseMs: number): boolean {
    if (now() - burstAt <= pauseMs) return sentAt < burstAt || --burstLeft >= 0;
    burstAt = now();
    burstLeft = others * unverifiedShare;
    return true;
  }

  /** Handles a refusal for load. @returns true where it opened the breaker */
  function failedForLoad(error: ApiError, request: RequestFailure): boolean {
    const { others, slackMs = Number.POSITIVE_INFINITY } = request;
    const wasOpen = msLeft() > 0;
    const requestedMs = (error.retryAfter ?? 0) * 1000;
    const tolerableMs = Math.max(backoff.maxMs, slackMs * maxRetryAfterShare.ofSlack);
    const pauseMs = Math.min(requestedMs, maxPauseMs, tolerableMs);
    if (pauseMs > 0) {
      if (isInBurst(request, pauseMs) && others > 0) return false;
      setCause(error);
      retryAt = Math.max(retryAt, now() + pauseMs);
      reportToPeers(error, now() + pauseMs);
      if (wasOpen) return false;
      if (!answeredSinceRetryAfter || pauseMs < requestedMs) {
        openUntil = retryAt;
        isCertain = false;
      }
      answeredSinceRetryAfter = false;
      return true;
    }
    // A server that refuses its only request is down: without a back-off it would be retried endlessly. With others in flight it may
    // only be full, until it refuses several in a row.
    failuresInRow++;
    const certain = others === 0 || (openUntil !== null && isCertain);
    return (
      (others === 0 || failuresInRow >= maxAmbiguousFailures || openUntil !== null) && trip(error, certain)
    );
  }

  return {
    get state(): 'up' | 'open' | 'half-open' {
      if (msLeft() > 0) return 'open';
      return openUntil === null ? 'up' : 'half-open';
    },
    /** Evidence of an open breaker; `suspected` for ambiguous failures and reports of peers. */
    get reason(): 'retry-after' | 'certain' | 'suspected' | null {
      if (retryAt > now()) return 'retry-after';
      if (openUntil === null) return null;
      return isCertain ? 'certain' : 'suspected';
    },
    /** Cause for clients and operators; null while up. */
    get waiting(): WaitingCause | null {
      return openUntil !== null || retryAt > now() ? cause : null;
    },
    /** Milliseconds until half-open; 0 unless open. */
    get msLeft() {
      return msLeft();
    },
    /** Applies the health that the server reports when probed. */
    reportedHealthy: (healthy: boolean) => void (isHealthy = healthy),
    /** Records the result of a failed probe as the cause. */
    setCause,
    /** Finding for peers: the server is certainly unavailable, to every process. */
    get openForPeers(): OpenBreaker | null {
      const ms = openForPeersUntil - now();
      return ms > 0 && cause ? { ms, cause } : null;
    },
    /** Applies a peer's finding, unless the server last answered here: a peer's network may fail. @returns true if opened */
    applyPeerReport({ ms, cause: reported }: OpenBreaker): boolean {
      if (msLeft() > 0 || lastAnswered) return false;
      openUntil = now() + Math.min(ms, maxPauseMs) + peerDelayMs;
      cause = reported;
      isCertain = false;
      return true;
    },
    answered() {
      lastAnswered = true;
      answeredSinceRetryAfter = true;
      failuresInRow = 0;
      openUntil = null;
      openForPeersUntil = Math.min(openForPeersUntil, retryAt);
      trips = 0;
      if (retryAt <= now()) cause = null;
    },
    /** @returns true where this failure opened the breaker */
    failed(error: ApiError, request: RequestFailure): boolean {
      lastAnswered = false;
      if (error.code === 'engine_overloaded') return failedForLoad(error, request);
      if (error.blame.certain || request.isMinimal) return trip(error);
      return (++failuresInRow >= maxAmbiguousFailures || openUntil !== null) && trip(error);
    },
  };
}
