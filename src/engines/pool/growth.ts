import type { Known, Pace } from './pace.ts';

/** Each step is verified before the next, so that a queue is hardly longer than half the slots. */
const factors = { start: 2, grow: 1.5, hesitant: 1.1, costly: 1.25 } as const;
/** A step that is less than this is none. */
const leastStep = 1.08;
/** The share of the additional requests that must show as additional throughput. */
export const worthwhile = 0.25;
/** Paces this close are the same. */
export const same = 0.1;
/** Where the mean is known this well, answers take equally long. */
const steady = 0.02;
/** Where it is known no better than that, there are answers of several kinds, and only quick ones had come before. */
const mixed = 0.2;
/** So many standard errors are no chance: to stop too early costs more than a step too many. */
const chance = { slower: 3, faster: 2 } as const;

export const unknown: Known = { mean: { pace: 0, error: 0 }, quick: { pace: 0, error: 0 } };

/** What is known of a server while more and more requests are sent to it. */
interface Growth {
  /** It goes on from fewer that were held: others may share the server, so that each step is looked at as a whole. */
  readonly isAgain: boolean;
  /** The pace of what did not queue. */
  readonly free: Known;
  /** So many in flight were worth it, though each took longer. */
  readonly worth: number;
  /**
   * By what factor the next step is more. 1: look once more, at a cohort of all that are in flight.
   * 0: more only cost time.
   */
  next(pace: Pace): number;
}

/**
 * @param isKnown whether it begins with about as many as there are
 * @param before the pace of fewer that did not queue, where it grows on from them
 */
export function createGrowth(isKnown = false, before: Pace | null = null): Growth {
  let free = before?.copy() ?? null;
  let last = before;
  let isDoubtful = false;
  let worth = before?.level ?? 0;

  return {
    isAgain: before !== null,
    get free() {
      return free?.known ?? unknown;
    },
    get worth() {
      return worth;
    },
    next(pace) {
      if (free === null || last === null) {
        free = pace.copy();
        last = pace;
        return isKnown ? factors.costly : factors.start;
      }
      const { slowdown, error } = slower(pace.known, free.known);
      if (slowdown < Math.max(same, chance.slower * error)) {
        // As fast as ever, as far as can be told.
        last = pace;
        isDoubtful = false;
        const isFaster = slowdown < -Math.max(same, chance.faster * error);
        // The first requests take longer: connections are made, and code is compiled.
        if (isFaster) free = pace.copy();
        else if (slowdown < Math.max(same, error)) free.merge(pace);
        if (isFaster || isKnown) return factors.costly;
        return Math.max(factors.hesitant, factors.grow / (1 + Math.max(0, slowdown)));
      }
      if (isDoubtful) return 0;
      const since = pace.mean / last.mean;
      const more = pace.level / last.level;
      isDoubtful = more / since - 1 < worthwhile * (more - 1);
      if (isDoubtful) return 1;
      const step = factors.costly / since;
      if (step < leastStep) return 0;
      last = pace;
      worth = pace.level;
      return step;
    },
  };
}

/** By what share it is slower than before, and by what share that may be wrong. */
export function slower(now: Known, before: Known): { slowdown: number; error: number } {
  const tells = telling(now, before);
  const slowdown = now[tells].pace / before[tells].pace - 1;
  return { slowdown, error: Math.hypot(now[tells].error, before[tells].error) };
}

/** The share that does not wait: the quick ones wait as long as all do. */
export function unqueued(now: Known, free: Known): number {
  const tells = telling(now, free);
  return 1 - (now[tells].pace - free[tells].pace) / now.mean.pace;
}

/** The mean where answers take equally long; the quick ones, who show a queue soonest, where times differ. */
function telling(now: Known, before: Known): keyof Known {
  return before.mean.error < steady && now.mean.error < mixed ? 'mean' : 'quick';
}
