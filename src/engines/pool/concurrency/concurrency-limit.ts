import {
  createAdaptiveConcurrency,
  headroom,
  withHeadroom,
  type TimedAnswer,
  type Sent,
} from './adaptive-concurrency.ts';

/** How much one replica is given at a time. */
export interface ConcurrencyLimit {
  /** How many requests it works on at once, as far as is known. */
  readonly slots: number;
  /** Requests in flight at most, so that its slots never wait for us and its queue stays short. */
  readonly maxInFlight: number;
  /** The share of those that it was never seen to work on at once: it may refuse so many and take all others. */
  readonly unverifiedShare: number;
  /** The same as `most`, where that is found out; null where it is told. */
  readonly discovered: number | null;
  /** @param others in flight there of other processes */
  sent(others?: number): Sent;
  answered(sent: Sent, answer: TimedAnswer): void;
  /** It failed or was given up: it tells nothing. */
  dropped(sent: Sent): void;
  /** The replica said that it has too much to do. `inFlight` is what it may have taken. */
  refused(inFlight: number): void;
  /** So many were found earlier: it begins with half of them. Meanwhile the server may have become smaller. */
  seed(found: number): void;
  /** Another process finds out how much it is given; null where none does. */
  followPeer(most: number | null): void;
  /** The server told how it is. */
  applyReport(report: { slots: number | null; queued: number | null }): void;
}

/** Rounds of answers without a refusal before more is tried, longer each time that is refused; and by how much. */
const patience = { rounds: 20, longest: 320, more: 1.05 } as const;
/** Refusals within that time are one burst, which takes three tenths at most. */
const burst = { ms: 250, leaves: 0.7 } as const;

/**
 * The limit of a replica whose slots are told by the configuration, by itself, or by nobody (`slot-finder.ts`). Told or
 * not, one that refuses gets less for a while.
 * @param now monotonic milliseconds
 * @param before slots that were found earlier, with which the finding begins
 */
export function createConcurrencyLimit(
  told: number | null,
  now: () => number,
  before?: number,
): ConcurrencyLimit {
  const finder = createAdaptiveConcurrency(now, before);
  let slots = told;
  let ceiling = Number.POSITIVE_INFINITY;
  let answersBelow = 0;
  let rounds: number = patience.rounds;
  let wasRaised = false;
  let floor = 1;
  let isFollowing = false;
  let burstUntil = Number.NEGATIVE_INFINITY;

  const most = () => Math.min(slots === null ? finder.maxInFlight : withHeadroom(slots), ceiling);

  function relax(): void {
    if (ceiling === Number.POSITIVE_INFINITY || ++answersBelow < rounds * ceiling) return;
    answersBelow = 0;
    if (wasRaised) rounds = Math.max(patience.rounds, rounds / 2);
    wasRaised = true;
    ceiling = Math.ceil(ceiling * patience.more);
    if (slots !== null && ceiling >= withHeadroom(slots)) ceiling = Number.POSITIVE_INFINITY;
  }

  return {
    get slots() {
      return Math.min(slots ?? finder.slots, ceiling);
    },
    get maxInFlight() {
      return most();
    },
    get unverifiedShare() {
      // What another process finds out is followed when it has found it, headroom and all.
      const given = slots === null && !isFollowing ? finder.unverifiedShare : 1 - 1 / headroom;
      // A server that refuses more of them than a burst may take means its rate.
      return Math.min(given, 1 - burst.leaves);
    },
    get discovered() {
      return slots === null ? most() : null;
    },
    sent: (others) => finder.sent(others),
    answered(sent, answer) {
      relax();
      if (isFollowing) finder.dropped(sent);
      else if (slots === null) finder.answered(sent, answer, ceiling);
    },
    dropped: (sent) => finder.dropped(sent),
    refused(inFlight) {
      if (now() >= burstUntil) {
        floor = Math.max(1, Math.floor(most() * burst.leaves));
        burstUntil = now() + burst.ms;
        if (wasRaised) rounds = Math.min(patience.longest, rounds * 2);
        wasRaised = false;
      }
      ceiling = Math.max(floor, Math.min(most(), inFlight));
      answersBelow = 0;
      finder.refused(ceiling);
    },
    seed: (found) => finder.seed(Math.ceil(found / 2)),
    followPeer(given) {
      isFollowing = slots === null && given !== null;
      if (isFollowing && given !== null) finder.followPeer(given);
    },
    applyReport(report) {
      if (told === null && report.slots !== null) slots = report.slots;
      if (report.queued !== null) finder.setQueued(report.queued);
    },
  };
}
