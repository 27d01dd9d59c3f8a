import type { RateLimitStatus } from '../../engines.ts';

/**
 * How fast requests may follow one another at a server that limits their number in time. Some tell what is left before they
 * refuse. Of others the rate is found out: between two pauses a server takes what it had saved up and then its rate, so
 * that two such times of different length tell both. What was found is raised now and then, because limits change.
 */
export interface RateLimit {
  /** Whether it limits what is sent; one that does not costs nothing. */
  readonly isKnown: boolean;
  /** Milliseconds until the next request may be sent. */
  readonly msLeft: number;
  sent(): void;
  reported(told: RateLimitStatus): void;
  /** What was sent at that time was refused. */
  refused(sentAt: number): void;
  /** It asked for a pause of so long, though it was given no more at once than it works on. */
  paused(ms: number): void;
}

/** Pauses that come sooner after one another mean a rate; others may mean that it was busy. */
const soonMs = 60_000;
/** What is given of a rate that was computed, of one that is about right, and of one that is only known to be too much. */
const shares = { found: 0.97, nearly: 0.9, tooMuch: 0.7 } as const;
/** What had been saved up makes little of the average of so long a time. */
const longMs = 5_000;
/** A rate that has held is tried to be more: soon where it is a guess. */
const raises = { found: { afterMs: 60_000, by: 1.03 }, guessed: { afterMs: 2_000, by: 1.25 } } as const;
/** What was refused sooner came all at once, and tells only what had been saved up. */
const tooShortMs = 1_000;
/** So much is told of that pacing begins: those with thousands left need none. */
const plentyMs = 5;

/** From the end of a pause to the next. */
interface Stretch {
  begun: number;
  ms: number;
  /** Requests that were not refused. */
  sent: number;
  /** It may have taken more than it was given. */
  wasGuess: boolean;
}

/** @param now monotonic milliseconds */
export function createRateLimit(now: () => number): RateLimit {
  /** Requests a millisecond. */
  let found = Number.POSITIVE_INFINITY;
  let foundAt = 0;
  let isGuess = false;
  let raised = 0;
  let told = Number.POSITIVE_INFINITY;
  let toldUntil = 0;
  let next = Number.NEGATIVE_INFINITY;
  let current: Stretch = { begun: now(), ms: 0, sent: 0, wasGuess: false };
  let before: Stretch | null = null;

  const perMs = () => Math.min(found, now() < toldUntil ? told : Number.POSITIVE_INFINITY);

  function find(last: Stretch, stretch: Stretch): void {
    const wasRaised = raised > 0;
    const { by } = isGuess ? raises.guessed : raises.found;
    isGuess = stretch.ms < tooShortMs;
    foundAt = now();
    raised = 0;
    if (isGuess)
      found = Math.min(
        found * shares.tooMuch,
        Math.max(1, last.sent) / Math.max(1, stretch.begun - last.begun),
      );
    // What had been saved up meanwhile hid the last steps.
    else if (wasRaised) found /= by ** 2;
    else found = between(last, stretch);
  }

  function between(last: Stretch, { ms, sent }: Stretch): number {
    const average = sent / ms;
    const slope = (sent - last.sent) / (ms - last.ms);
    const differ = !last.wasGuess && Math.abs(ms - last.ms) > Math.max(ms, last.ms) / 4;
    const isLikely = differ && slope > average / 4 && slope < average;
    if (isLikely) return slope * shares.found;
    return Math.min(average, found) * (ms < longMs ? shares.tooMuch : shares.nearly);
  }

  return {
    get isKnown() {
      return perMs() < Number.POSITIVE_INFINITY;
    },
    get msLeft() {
      return Math.max(0, next - now());
    },
    sent() {
      current.sent++;
      const at = now();
      const rate = perMs();
      if (rate === Number.POSITIVE_INFINITY) return;
      const isBusy = at - next < 2 / rate;
      const { afterMs, by } = isGuess ? raises.guessed : raises.found;
      if (isBusy && rate === found && at - foundAt >= afterMs) {
        found *= by;
        raised++;
        foundAt = at;
      }
      next = Math.max(at - 1 / rate, next) + 1 / rate;
    },
    reported({ remaining, resetMs }) {
      const apart = resetMs / Math.max(1, remaining);
      told = apart < plentyMs ? Number.POSITIVE_INFINITY : 1 / apart;
      toldUntil = now() + resetMs;
      if (remaining <= 0) next = Math.max(next, toldUntil);
      else if (told < Number.POSITIVE_INFINITY) next = Math.min(next, now() + apart);
    },
    refused(sentAt) {
      const stretch = before && sentAt < current.begun ? before : current;
      stretch.sent--;
    },
    paused(ms) {
      const at = now();
      const begun = at + ms;
      current.ms = at - current.begun;
      // One that takes nothing at all is away, and tells nothing of its rate.
      if (current.sent > 0) {
        // A server that was too busy once asks for a pause, too.
        const isRate = found < Number.POSITIVE_INFINITY || current.ms < soonMs;
        if (before && before.sent > 0 && isRate) find(before, current);
        before = current;
      }
      current = { begun, ms: 0, sent: 0, wasGuess: isGuess };
      next = begun;
    },
  };
}
