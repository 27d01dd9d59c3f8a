import type { ProbeReport } from '../../engines.ts';
import { type CanaryPace, createGoodputSearch, type TimedAnswer } from './goodput-search.ts';
import type { Measurement, SentRequest } from './measurement.ts';

export type ConcurrencyLimit = ReturnType<typeof createConcurrencyLimit>;

/**
 * Rounds of answers without a refusal before a raise: at first, after a refused raise, and at most after several of those.
 * Share of the limit that a raise adds: the first, and at most after several in a row.
 */
const raise = { minRounds: 2, refusedRounds: 20, maxRounds: 320, minShare: 0.05, maxShare: 0.4 } as const;
/** Duration of a burst of refusals, which together lower the limit by at most 30 %. */
const burst = { ms: 250, leaves: 0.7 } as const;

/**
 * Limit of requests in flight at one replica: from the slots that the configuration or the server states, or discovered under
 * load (`goodput-search.ts`). Refusals lower it for a while in any case.
 * @param stated configured slots; null if unknown
 * @param now monotonic milliseconds
 * @param before slots discovered earlier, from which the discovery starts
 */
export function createConcurrencyLimit(stated: number | null, now: () => number, before?: number) {
  const search = createGoodputSearch(now, before);
  let slots = stated;
  let ceiling = Number.POSITIVE_INFINITY;
  let answersBelow = 0;
  let rounds: number = raise.minRounds;
  /** Raises since the last refusal. */
  let raises = 0;
  let floor = 1;
  let isFollowing = false;
  let burstUntil = Number.NEGATIVE_INFINITY;

  const maxInFlight = () => Math.min(slots === null ? search.limit : withHeadroom(slots), ceiling);

  function relax(): void {
    if (ceiling === Number.POSITIVE_INFINITY || ++answersBelow < rounds * ceiling) return;
    answersBelow = 0;
    if (raises > 0) rounds = Math.max(raise.minRounds, rounds / 2);
    ceiling = Math.ceil(ceiling * (1 + Math.min(raise.maxShare, raise.minShare * 2 ** raises)));
    raises++;
    if (slots !== null && ceiling >= withHeadroom(slots)) ceiling = Number.POSITIVE_INFINITY;
  }

  return {
    get slots() {
      return Math.min(slots ?? search.held, ceiling);
    },
    /** Limit with headroom, so that no slot idles and the server's queue stays short. */
    get maxInFlight() {
      return maxInFlight();
    },
    /** Share of the limit that the server was never seen to process concurrently, and so may refuse while it takes the rest. */
    get unverifiedShare() {
      const isClimb = slots === null && !isFollowing;
      // A known limit counts as verified except for its headroom.
      const share = Math.max(1 - 1 / headroom, isClimb ? 1 - search.verified / search.limit : 0);
      // More refusals than a burst may cost show a rate limit.
      return Math.min(share, 1 - burst.leaves);
    },
    /** `maxInFlight` where it was discovered; null where the server reports its slots. */
    get discovered() {
      return slots === null ? maxInFlight() : null;
    },
    /** @param others requests of other processes in flight at the server */
    sent: (others?: number) => search.sent(others),
    answered(sent: SentRequest, answer: TimedAnswer) {
      relax();
      if (isFollowing) search.dropped(sent);
      else if (slots === null) search.answered(sent, answer, ceiling);
    },
    /** Measurement for a canary to take; null if none is needed. */
    canaryStep: () => (slots === null && !isFollowing ? search.canaryStep() : null),
    canaryReturned: (step: Measurement, pace: CanaryPace | null) =>
      search.canaryReturned(step, pace, ceiling),
    /** Removes a request that failed or was given up. */
    dropped: (sent: SentRequest) => search.dropped(sent),
    /** Lowers the limit after a refusal. @param accepted requests that the server may have accepted */
    refused(accepted: number) {
      if (now() >= burstUntil) {
        floor = Math.max(1, Math.floor(maxInFlight() * burst.leaves));
        burstUntil = now() + burst.ms;
        if (raises > 0) rounds = Math.min(raise.maxRounds, Math.max(raise.refusedRounds, rounds * 2));
        raises = 0;
      }
      ceiling = Math.max(floor, Math.min(maxInFlight(), accepted));
      answersBelow = 0;
      search.refused(ceiling);
    },
    /** Starts from a limit discovered earlier, if it is higher than the current one. */
    seed(limit: number) {
      if (limit > search.limit) search.seed(limit);
    },
    /** Applies the limit that another process discovers; null if none does. */
    followPeer(limit: number | null) {
      isFollowing = slots === null && limit !== null;
      if (isFollowing && limit !== null) search.seed(limit);
    },
    applyReport(report: Pick<ProbeReport, 'slots' | 'queued'>) {
      if (stated === null && report.slots !== null) slots = report.slots;
      if (report.queued !== null) search.setQueued(report.queued);
    },
  };
}

/** Requests in flight per slot, so that the next request is there when an answer leaves. */
const headroom = 9 / 8;

/** Limit for a number of slots: one more request for every eighth slot, rounded up. */
export function withHeadroom(slots: number): number {
  return slots + Math.ceil(slots / 8);
}
