import type { Pace } from './pace.ts';

/** Each step is verified before the next, so that a queue is never much longer than half the slots. */
const factors = { start: 2, grow: 1.5, hesitant: 1.25, costly: 1.25 } as const;
/** The share of the additional requests that must show as additional throughput. */
export const worthwhile = 0.25;
/** Paces this close are the same. */
export const same = 0.07;
/** So many standard errors are no chance: to stop too early costs more than a step too many. */
const chance = 4;

/** How fast it has to be without a queue, in milliseconds a unit of work, and its standard error as a share of it. */
export interface Known {
  mean: number;
  error: number;
}

/** What is known of a server while more and more requests are sent to it. */
interface Growth {
  /** The pace of what did not queue. */
  readonly free: Known;
  /**
   * By what factor the next step is more. 1: look once more, at a cohort of all that are in flight.
   * 0: more only cost time.
   */
  next(pace: Pace): number;
}

/** @param isKnown whether it begins with about as many as there are */
export function createGrowth(isKnown = false): Growth {
  let free: Pace | null = null;
  let last: Pace | null = null;
  let isDoubtful = false;

  return {
    get free() {
      return { mean: free?.mean ?? 0, error: free?.error ?? 0 };
    },
    next(pace) {
      if (free === null || last === null) {
        free = pace.copy();
        last = pace;
        return isKnown ? factors.hesitant : factors.start;
      }
      const slowdown = pace.mean / last.mean;
      const more = pace.level / last.level;
      const queueing = pace.mean / free.mean - 1;
      // If it did not queue, it would be spread as what is known not to.
      const error = free.error * Math.sqrt(1 + free.count / pace.count);
      if (queueing < Math.max(same, chance * error)) {
        // As fast as ever, as far as can be told.
        if (queueing < Math.max(same, error)) free.merge(pace);
        last = pace;
        isDoubtful = false;
        return Math.max(factors.hesitant, factors.grow / Math.max(1, slowdown));
      }
      if (isDoubtful) return 0;
      isDoubtful = more / slowdown - 1 < worthwhile * (more - 1);
      if (isDoubtful) return 1;
      last = pace;
      return factors.costly / slowdown;
    },
  };
}
