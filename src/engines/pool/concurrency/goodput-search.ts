import { Measurement, meanInFlight, type SentRequest } from './measurement.ts';
import { compare, knee, merge, neededGain, pool, type Throughput } from './throughput.ts';

export interface TimedAnswer {
  /** Arrival in monotonic milliseconds, earlier than now where this process was busy. */
  at: number;
  /** Tokens read and written, weighted by cost; 1 where unknown. */
  work: number;
  /** True where about as many requests were in flight as permitted. */
  isFull: boolean;
}

/** Speed of a short answer: milliseconds to its first token, and for each further one. */
export interface CanaryPace {
  firstMs: number;
  tokenMs: number;
}

const initialLimit = 8;
const maxLimit = 4096;
/** Factors of a climb: the first, those after a step that cost no request any time, the others, and the first one downwards from a seed. */
const climb = { first: 3, free: 2, usual: 1.4, seeded: 1.125, min: 1.08, down: 7 / 8 } as const;
/** Share that shows where nothing slows down. */
const freeShare = 0.9;
/** Work of an answer before any arrived. */
const unknownWork = 128;
/** Share of the limit from which the load counts as full. */
const minLoad = 0.75;
/** Newest answer's weight in the mean work of an answer. */
const newestWeight = 0.05;
/** Canaries that end a climb, and that measure a limit of a trial or an earlier limit; relative error of the pace of one. */
const canaries = { toStop: 2, ofTrial: 3, error: 0.05 } as const;
/** Throughput that must remain with fewer requests; the others had only queued. */
const minKept = 0.99;
/** Size of a trial, by the source of its measurements. */
const trials = { answers: 1 / 8, canary: 1 / 16 } as const;
/** Share of the additional requests below which a server is known to have fewer slots. */
const plateau = 0.1;
/** Change of the throughput at one limit that shows a different server. */
const surprise = 0.2;
/** Measurements to hold a limit until the next trial. */
const holdFor = { initial: 3, max: 8 } as const;
/** Rounds of all requests in flight that are measured to hold a limit and to judge a trial, and the least requests. */
const sizes = { rounds: 2, min: 12, max: 512 } as const;
/** Share of answers that must arrive at full load. */
const minFull = 0.75;
/** Answers from which a verdict is taken as it is. */
const minClear = 128;
/** Standard errors that count as significant. */
const significance = 2;
/** Share of the requests in flight from which a queue that the server reports stops a climb. */
const maxQueued = 1 / 8;

type Phase =
  /** Raises the limit while that raises throughput; `low` is the last limit that did. */
  | { kind: 'climb'; low: Throughput | null }
  /** Lowers the limit after a climb, and checks that this costs no throughput; `isFirst` after the climb itself. */
  | { kind: 'settle'; high: Throughput; isFirst: boolean }
  | { kind: 'hold'; measured: number; last: Throughput | null; isSurprised: boolean }
  /** Tries another limit, and keeps it if throughput rose, or held with fewer requests; `before` is null while it is measured. */
  | { kind: 'trial'; held: number; to: number; before: Throughput | null };

/**
 * Discovers how many requests a server should process concurrently: the fewest with nearly its highest throughput. Servers
 * with slots queue further requests; those with continuous batching slow all of them down, long before they are full. Only the
 * throughput shows the best number for both.
 * @param now monotonic milliseconds
 */
export function createGoodputSearch(now: () => number, start: number = initialLimit) {
  let limit = start;
  let inFlight = 0;
  /** Requests of other processes in flight. */
  let others = 0;
  /** Milliseconds in flight of all requests until `loadAt`. */
  let load = 0;
  let loadAt = now();
  /** Requests that fill up to a higher limit: they queue less than those after them. */
  let skip = 0;
  let queued = 0;
  /** Requests that the server was seen to take with a gain. */
  let verified = 0;
  /** Limit from which the climb started. */
  let first = start;
  let isSeeded = false;
  /** True after the first climb. */
  let hasHeld = false;
  let waits: number = holdFor.initial;
  let isNextUp = false;
  let phase: Phase = { kind: 'climb', low: null };
  let measurement = new Measurement(start);
  /** Earlier measurements at this limit, which did not suffice for a verdict. */
  let unclear: Throughput | null = null;
  /** Source of the measurements of climbs and trials: whichever is first. Those of one do not compare to those of the other. */
  let source: 'answers' | 'canary' | null = null;
  let meanWork: number = unknownWork;

  function enter(next: Phase, to: number): void {
    phase = next;
    limit = clamp(to);
    measure();
    const isStart = next.kind === 'climb' && next.low === null;
    if (isStart) source = null;
    skip = isStart ? 0 : Math.max(0, limit - inFlight - others);
  }

  function measure(): void {
    unclear = null;
    const isStep = phase.kind === 'climb';
    measurement = new Measurement(
      isStep ? limit : Math.max(sizes.min, Math.min(sizes.max, sizes.rounds * limit)),
    );
  }

  function hold(to: number): void {
    hasHeld = true;
    enter({ kind: 'hold', measured: 0, last: null, isSurprised: false }, to);
  }

  /** @returns false where more answers are needed */
  function takeStep(low: Throughput | null, seen: Throughput, serverShare: number, ceiling: number): boolean {
    if (isSeeded && source === 'canary' && seen.count < canaries.ofTrial) return false;
    // The server may have shrunk since.
    if (!low && isSeeded) {
      enter({ kind: 'settle', high: seen, isFirst: false }, limit * climb.down);
      return true;
    }
    let factor: number = climb.first;
    let next = seen;
    if (low) {
      const { gain, more, doubt } = compare(low, seen);
      const needed = neededGain(more);
      if (isUnclear(seen, gain, needed, doubt)) return false;
      if (gain < needed && source === 'canary' && seen.count < canaries.toStop) return false;
      if (gain < needed) return settle(low, seen);
      const share = (gain + doubt - 1) / (more - 1);
      factor = isSeeded ? climb.seeded : 1 + (climb.usual - 1) * Math.min(1, share);
      // Overshooting costs little where it shows at once.
      if (source === 'canary' && share >= freeShare && !hasHeld) factor = climb.free;
      next = merge(low, seen);
    }
    verified = limit;
    const to = clamp(Math.min(Math.ceil(limit * Math.max(climb.min, factor * serverShare)), ceiling));
    if (to <= limit) hold(limit);
    else enter({ kind: 'climb', low: next }, to);
    return true;
  }

  /** True where more answers may change the verdict. */
  function isUnclear({ count }: Throughput, gain: number, needed: number, doubt: number): boolean {
    if (source === 'canary' || count >= Math.max(minClear, 2 * limit)) return false;
    return gain < needed && gain > needed - significance * doubt;
  }

  function settle(low: Throughput, high: Throughput): true {
    enter({ kind: 'settle', high, isFirst: true }, Math.min(limit, Math.ceil(knee(low, high)) + 1));
    return true;
  }

  /** @returns false where more answers are needed */
  function verify({ high, isFirst }: Phase & { kind: 'settle' }, seen: Throughput, ceiling: number): boolean {
    if (isSeeded && source === 'canary' && seen.count < canaries.ofTrial) return false;
    const { gain, more } = compare(seen, high);
    const isPlateau = gain < 1 + plateau * Math.min(1, more - 1);
    // The climb was stopped by chance.
    if (more > climb.min && gain >= neededGain(more))
      enter({ kind: 'climb', low: seen }, Math.min(high.inFlight, ceiling));
    // Even the first limit may have been more than the slots.
    else if (verified <= first && limit > 1 && (isFirst || isPlateau))
      enter({ kind: 'settle', high: seen, isFirst: false }, limit / 2);
    else hold(Math.max(limit, Math.min(high.inFlight, Math.ceil(knee(seen, high)) + 1)));
    return true;
  }

  function review(held: Phase & { kind: 'hold' }, seen: Throughput, ceiling: number): void {
    const { change, doubt } = held.last ? compare(held.last, seen) : { change: 1, doubt: 0 };
    const isOther = Math.abs(change - 1) > Math.max(surprise, significance * doubt);
    if (isOther && !held.isSurprised) {
      held.isSurprised = true;
      return measure();
    }
    held.isSurprised = false;
    held.last = seen;
    held.measured++;
    if (held.measured < waits && !isOther) return measure();
    const isUp = isOther ? change > 1 : isNextUp;
    if (!isOther) isNextUp = !isNextUp;
    const by = source === 'canary' ? trials.canary : trials.answers;
    const factor = isUp
      ? 1 + Math.min(1 / 2, Math.max(by, 2 / limit))
      : isOther
        ? Math.max(1 - 2 * by, change)
        : 1 - by;
    const to = clamp(Math.min(isUp ? Math.ceil(limit * factor) : Math.floor(limit * factor), ceiling));
    if (to === limit || (to > limit && isQueued())) return measure();
    if (source === 'canary') enter({ kind: 'trial', held: limit, to, before: null }, limit);
    else enter({ kind: 'trial', held: limit, to, before: seen }, to);
  }

  /** @returns false where more answers are needed */
  function decide(
    { held, to, before }: Phase & { kind: 'trial' },
    seen: Throughput,
    ceiling: number,
  ): boolean {
    if (source === 'canary' && seen.count < canaries.ofTrial) return false;
    if (!before) {
      enter({ kind: 'trial', held, to, before: seen }, to);
      return true;
    }
    const isUp = to > held;
    const { gain, more, doubt } = compare(before, seen);
    const needed = isUp ? neededGain(more) : minKept;
    if (isUnclear(seen, gain, needed, doubt)) return false;
    const isKept = gain >= needed;
    waits = isKept ? holdFor.initial : Math.min(holdFor.max, waits * 2);
    if (!isKept) hold(held);
    else if (isUp && limit < ceiling && (source !== 'canary' || gain - 1 >= freeShare * (more - 1))) {
      verified = limit;
      isSeeded = false;
      enter({ kind: 'climb', low: seen }, Math.min(ceiling, limit * (1 + trials.answers)));
    } else hold(limit);
    return true;
  }

  function countLoad(): number {
    const at = now();
    load += (inFlight + others) * (at - loadAt);
    loadAt = at;
    return at;
  }

  function left(): void {
    // Too few requests to judge the trial.
    if (--inFlight === 0 && phase.kind === 'trial') hold(phase.held);
  }

  const isQueued = () => queued > limit * maxQueued;

  /** Applies a measured throughput. @returns false where more answers are needed */
  function apply(seen: Throughput, serverShare: number, ceiling: number): boolean {
    if (phase.kind === 'climb') {
      if (isQueued()) {
        measure();
        return true;
      }
      return takeStep(phase.low, seen, serverShare, ceiling);
    }
    if (phase.kind === 'settle') return verify(phase, seen, ceiling);
    if (phase.kind === 'trial') return decide(phase, seen, ceiling);
    review(phase, seen, ceiling);
    return true;
  }

  function take(measured: Throughput, serverShare: number, ceiling: number): void {
    const seen = pool(unclear, measured);
    if (apply(seen, serverShare, ceiling)) return;
    measure();
    unclear = seen;
  }

  return {
    get limit() {
      return limit;
    },
    /** The limit that is held during a trial, and the current one otherwise. */
    get held() {
      return phase.kind === 'trial' ? phase.held : limit;
    },
    /** Requests that the server was seen to process concurrently. */
    get verified() {
      return phase.kind === 'trial' ? phase.held : phase.kind === 'hold' ? limit : verified;
    },
    /** @param ofOthers requests of other processes in flight at the server */
    sent(ofOthers = 0): SentRequest {
      const at = countLoad();
      others = ofOthers;
      const sent: SentRequest = { at, inFlight: ++inFlight + others, load, measurement: null };
      if (--skip < 0) measurement.join(sent);
      return sent;
    },
    /** @param ceiling limit above which the server refuses requests */
    answered(sent: SentRequest, { at: arrivedAt, work, isFull }: TimedAnswer, ceiling: number) {
      const at = countLoad();
      const inFlightMeanwhile = meanInFlight(sent, at, load);
      const answer = { ms: arrivedAt - sent.at, work, totalMs: at - sent.at, inFlight: inFlightMeanwhile };
      left();
      meanWork += (work - meanWork) * newestWeight;
      if (sent.measurement !== measurement || (source === 'canary' && phase.kind !== 'hold')) return;
      measurement.answered(sent, answer, isFull);
      if (!measurement.isKnown(at)) return;
      if (measurement.fullShare < minFull) return phase.kind === 'trial' ? hold(phase.held) : measure();
      const { serverShare } = measurement;
      if (phase.kind !== 'hold') source = 'answers';
      take(measurement.throughput(at, load), serverShare, ceiling);
    },
    /** Measurement for a canary to take; null if only answers can tell, or too few requests are in flight. */
    canaryStep(): Measurement | null {
      if (source === 'answers' || phase.kind === 'hold' || inFlight + others < limit * minLoad) return null;
      // Requests above the limit are still at the server.
      return phase.kind !== 'climb' && inFlight + others > limit ? null : measurement;
    },
    /** Applies the pace of a canary, or null where it failed. */
    canaryReturned(step: Measurement, pace: CanaryPace | null, ceiling: number) {
      if (step !== measurement || source === 'answers') return;
      if (!pace) {
        if (phase.kind === 'trial') hold(phase.held);
        else if (source) enter({ kind: 'climb', low: null }, limit);
        source = 'answers';
        return;
      }
      source = 'canary';
      const ms = pace.firstMs + meanWork * pace.tokenMs;
      const mean = { ms: ms / meanWork, error: canaries.error };
      take({ inFlight: inFlight + others, mean, quick: mean, spread: 0, count: 1 }, 1, ceiling);
    },
    /** Removes a request that failed or was given up, and says nothing about the limit. */
    dropped(sent: SentRequest) {
      countLoad();
      left();
      sent.measurement?.leave(sent);
    },
    /** Starts over near a limit that was discovered earlier, or by another process. */
    seed(to: number) {
      if (to === limit) return;
      isSeeded = true;
      first = to;
      verified = 0;
      enter({ kind: 'climb', low: null }, to);
    },
    /** Settles below the limit at which the server refuses requests. */
    refused(ceiling: number) {
      if (ceiling >= limit) return;
      waits = holdFor.max;
      hold(ceiling);
    },
    /** Applies the length of the queue that the server reports. */
    setQueued: (requests: number) => void (queued = requests),
  };
}

function clamp(count: number): number {
  return Math.max(1, Math.min(maxLimit, Math.round(count)));
}
