import type { RateLimitStatus } from '../../engines.ts';

export type RateLimit = ReturnType<typeof createRateLimit>;

/** Interval within which a second pause shows a rate; later ones may mean that the server was busy. */
const soonMs = 60_000;
/** Shares used of a rate that was computed, of an average, and of one known only to be too high. */
const shares = { computed: 0.97, average: 0.9, tooHigh: 0.7 } as const;
/** Interval over which the saved-up requests hardly change the average. */
const longMs = 5_000;
/** Raises of a rate that held; sooner where it is a guess. */
const raises = {
  computed: { afterMs: 60_000, factor: 1.03 },
  guessed: { afterMs: 2_000, factor: 1.25 },
} as const;
/** Interval below which requests came all at once and show only what was saved up. */
const tooShortMs = 1_000;
/** Interval between requests below which a reported limit needs no pacing. */
const plentyMs = 5;

/** Interval from the end of a pause to the next one. */
interface Stretch {
  begunAt: number;
  ms: number;
  /** Requests that were not refused. */
  sent: number;
  /** True where the server might have taken more. */
  wasGuess: boolean;
}

/**
 * Rate limit of a server, reported in its headers or discovered from its refusals. Between two pauses a server takes what it
 * had saved up (a token bucket) plus its rate, so two such intervals of different length show both. A discovered rate is
 * raised now and then, because limits change.
 * @param now monotonic milliseconds
 */
export function createRateLimit(now: () => number) {
  /** Discovered rate, in requests per millisecond. */
  let rate = Number.POSITIVE_INFINITY;
  let changedAt = 0;
  let isGuess = false;
  let raised = 0;
  let reportedRate = Number.POSITIVE_INFINITY;
  let reportedUntil = 0;
  let nextAt = Number.NEGATIVE_INFINITY;
  let current: Stretch = { begunAt: now(), ms: 0, sent: 0, wasGuess: false };
  let before: Stretch | null = null;

  const perMs = () => Math.min(rate, now() < reportedUntil ? reportedRate : Number.POSITIVE_INFINITY);

  function discover(last: Stretch, stretch: Stretch): void {
    const wasRaised = raised > 0;
    const { factor } = isGuess ? raises.guessed : raises.computed;
    isGuess = stretch.ms < tooShortMs;
    changedAt = now();
    raised = 0;
    if (isGuess) {
      const average = Math.max(1, last.sent) / Math.max(1, stretch.begunAt - last.begunAt);
      rate = Math.min(rate * shares.tooHigh, average);
    }
    // Saved-up requests hid that the last raises were too much.
    else if (wasRaised) rate /= factor ** 2;
    else rate = rateBetween(last, stretch);
  }

  function rateBetween(last: Stretch, { ms, sent }: Stretch): number {
    const average = sent / ms;
    const slope = (sent - last.sent) / (ms - last.ms);
    const differ = !last.wasGuess && Math.abs(ms - last.ms) > Math.max(ms, last.ms) / 4;
    if (differ && slope > average / 4 && slope < average) return slope * shares.computed;
    return Math.min(average, rate) * (ms < longMs ? shares.tooHigh : shares.average);
  }

  return {
    /** False where no rate is known and requests are not paced. */
    get isKnown() {
      return perMs() < Number.POSITIVE_INFINITY;
    },
    /** Milliseconds until the next request may be sent. */
    get msLeft() {
      return Math.max(0, nextAt - now());
    },
    sent() {
      current.sent++;
      const at = now();
      const limit = perMs();
      if (limit === Number.POSITIVE_INFINITY) return;
      const isBusy = at - nextAt < 2 / limit;
      const { afterMs, factor } = isGuess ? raises.guessed : raises.computed;
      if (isBusy && limit === rate && at - changedAt >= afterMs) {
        rate *= factor;
        raised++;
        changedAt = at;
      }
      nextAt = Math.max(at - 1 / limit, nextAt) + 1 / limit;
    },
    reported({ remaining, resetMs }: RateLimitStatus) {
      const intervalMs = resetMs / Math.max(1, remaining);
      reportedRate = intervalMs < plentyMs ? Number.POSITIVE_INFINITY : 1 / intervalMs;
      reportedUntil = now() + resetMs;
      if (remaining <= 0) nextAt = Math.max(nextAt, reportedUntil);
      else if (reportedRate < Number.POSITIVE_INFINITY) nextAt = Math.min(nextAt, now() + intervalMs);
    },
    /** Counts a refused request. @param sentAt monotonic milliseconds */
    refused(sentAt: number) {
      const stretch = before && sentAt < current.begunAt ? before : current;
      stretch.sent--;
    },
    /** Handles a `retry-after` of a server that was not given more than it processes concurrently. */
    paused(ms: number) {
      const at = now();
      const begunAt = at + ms;
      current.ms = at - current.begunAt;
      // A server that took no request at all is unavailable, which says nothing about its rate.
      if (current.sent > 0) {
        // A first pause may come from a busy server.
        const isRate = rate < Number.POSITIVE_INFINITY || current.ms < soonMs;
        if (before && before.sent > 0 && isRate) discover(before, current);
        before = current;
      }
      current = { begunAt, ms: 0, sent: 0, wasGuess: isGuess };
      nextAt = begunAt;
    },
  };
}
