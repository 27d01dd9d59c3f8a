import type { LatencyEstimate, LatencyStats } from './latency-stats.ts';

/**
 * Each step is verified before the next, so that a queue is hardly longer than half the slots: from the few it begins with to
 * three times as many, which 16 slots take, and then by less.
 */
const factors = { start: 3, grow: 1.4, hesitant: 1.1, costly: 1.25 } as const;
/** A step that is less than this is none. */
const leastStep = 1.08;
/** The share of the additional requests that must show as additional throughput. */
export const worthwhile = 0.33;
/** Paces this close are the same. */
export const same = 0.1;
/** Paces this close are so by chance: what is merged would else hide a queue that grows slowly. */
const alike = 0.03;
/** Where single answers differ by no more than that, they take equally long, and each that waits shows. */
const steady = 0.15;
/** Answers that come in step of which some wait for the others differ by less. */
const mixed = 0.4;
/** So many tell how much they differ. */
const many = 50;
/** The most that doubt takes from a step. */
const mostDoubt = 0.1;
/** So many standard errors are no chance: to stop too early costs more than a step too many. */
const chance = { slower: 3, faster: 2 } as const;

export const unknown: LatencyEstimate = {
  mean: { pace: 0, error: 0 },
  p30: { pace: 0, error: 0 },
  spread: 0,
  count: 0,
};

/** What is known of a server while more and more requests are sent to it. */
interface RampUp {
  /** It goes on from fewer that were held: others may share the server, so that each step is looked at as a whole. */
  readonly isAgain: boolean;
  /** The pace of what did not queue. */
  readonly free: LatencyEstimate;
  /** So many in flight were worth it, though each took longer. */
  readonly worth: number;
  /**
   * By what factor the next step is more. 1: look once more, at a cohort of all that are in flight.
   * 0: more only cost time.
   */
  next(pace: LatencyStats): number;
}

/**
 * @param isKnown whether it begins with about as many as there are
 * @param before the pace of fewer that did not queue, where it grows on from them
 */
export function createRampUp(isKnown = false, before: LatencyStats | null = null): RampUp {
  let free = before?.copy() ?? null;
  let last = before;
  let isDoubtful = false;
  let worth = before?.level ?? 0;

  return {
    isAgain: before !== null,
    get free() {
      return free?.estimate ?? unknown;
    },
    get worth() {
      return worth;
    },
    next(pace) {
      if (free === null || last === null) {
        free = pace.copy();
        last = pace;
        return onward(isKnown ? factors.costly : factors.start, pace);
      }
      const { slowdown, error } = slowdownSince(pace.estimate, free.estimate);
      if (slowdown < Math.max(same, chance.slower * error)) {
        // As fast as ever, as far as can be told.
        last = pace;
        isDoubtful = false;
        const isFaster = slowdown < -Math.max(same, chance.faster * error);
        // The first requests take longer: connections are made, and code is compiled.
        if (isFaster) free = pace.copy();
        else if (slowdown < Math.max(alike, error)) free.merge(pace);
        if (isFaster || isKnown) return onward(factors.costly, pace);
        const doubt = Math.max(0, slowdown + Math.min(mostDoubt, error / 2));
        return onward(Math.max(factors.hesitant, factors.grow / (1 + doubt)), pace);
      }
      // The first to be sent after a step find slots that others have just left: what they say is half the truth.
      isDoubtful = !isDoubtful;
      if (isDoubtful) return 1;
      const since = pace.mean / last.mean;
      const more = pace.level / last.level;
      if (more / since - 1 < worthwhile * (more - 1)) return 0;
      const step = factors.costly / since;
      if (step < leastStep) return 0;
      last = pace;
      worth = pace.level;
      return onward(step, pace);
    },
  };
}

/** What waits here to be read is not at the server: a step from it would be one more before the last one was verified. */
function onward(factor: number, pace: LatencyStats): number {
  return Math.max(leastStep, factor * pace.share);
}

/** By what share it is slower than before, and by what share that may be wrong. */
export function slowdownSince(
  now: LatencyEstimate,
  before: LatencyEstimate,
): { slowdown: number; error: number } {
  const { slowdown, error } = surest(now, before);
  return { slowdown, error };
}

/** The share that does not wait: the quick ones wait as long as all do. */
export function queueFreeShare(now: LatencyEstimate, free: LatencyEstimate): number {
  const { by } = surest(now, free);
  return 1 - (now[by].pace - free[by].pace) / now.mean.pace;
}

interface Slower {
  by: 'mean' | 'p30';
  slowdown: number;
  error: number;
}

/**
 * Where times differ, the quick ones show a queue soonest that all wait in. Where answers come in step, some wait and the quick
 * ones do not: the mean shows that, against what single answers differed by before.
 */
function surest(now: LatencyEstimate, before: LatencyEstimate): Slower {
  const quick = compare('p30', now, before, now.p30.error);
  if (Math.max(now.spread, before.spread) >= mixed) return quick;
  if (before.spread < steady) return compare('mean', now, before, before.spread / Math.sqrt(now.count));
  if (Math.min(now.count, before.count) < many) return quick;
  const mean = compare('mean', now, before, now.mean.error);
  return sureness(mean) > sureness(quick) ? mean : quick;
}

function compare(by: Slower['by'], now: LatencyEstimate, before: LatencyEstimate, error: number): Slower {
  const slowdown = now[by].pace / before[by].pace - 1;
  return { by, slowdown, error: Math.hypot(error, before[by].error) };
}

function sureness({ slowdown, error }: Slower): number {
  return slowdown / (error + 0.001);
}
