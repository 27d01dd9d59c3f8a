import type { Known, Pace } from './pace.ts';

/** Each step is verified before the next, so that a queue is never much longer than half the slots. */
const factors = { start: 2, grow: 1.4, hesitant: 1.25, costly: 1.26 } as const;
/** The share of the additional requests that must show as additional throughput. */
export const worthwhile = 0.25;
/** Paces this close are the same. */
export const same = 0.07;
/** So many standard errors are no chance: to stop too early costs more than a step too many. */
const chance = { mean: 4, quick: 3, faster: 2 } as const;

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
  /** Whether requests take longer the more there are, and more were worth it all the same. */
  let isCostly = false;

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
      // The first requests to a server take longer: connections are made, and models loaded.
      const faster = Math.max(same, chance.faster * pace.quick.error);
      if (pace.quick.mean < free.quick.mean * (1 - faster)) free = pace.copy();
      if (isWithin(pace, free, chance.mean, chance.quick)) {
        // As fast as ever, as far as can be told.
        if (isWithin(pace, free, 1, 1)) free.merge(pace);
        last = pace;
        isDoubtful = false;
        return factors.grow;
      }
      const slowdown = pace.mean / last.mean;
      const more = pace.level / last.level;
      const isWorthIt = more / slowdown - 1 >= worthwhile * (more - 1);
      // Those that are more may have come in when others just left: a round later they show what they cost.
      if (!isDoubtful && !(isCostly && isWorthIt)) {
        isDoubtful = true;
        return 1;
      }
      if (!isWorthIt) return 0;
      isDoubtful = false;
      isCostly = true;
      last = pace;
      return factors.costly / slowdown;
    },
  };
}

/** Whether it is no slower than what did not queue, by either mean, but for so many standard errors. */
function isWithin(pace: Pace, free: Pace, means: number, quicks: number): boolean {
  // If it did not queue, it would be spread as what is known not to.
  const spread = Math.sqrt(1 + free.count / pace.count);
  const isBelow = (now: Known, known: Known, errors: number) =>
    now.mean / known.mean - 1 < Math.max(same, errors * known.error * spread);
  return isBelow(pace, free, means) && isBelow(pace.quick, free.quick, quicks);
}
