import { same, worthwhile } from './growth.ts';
import type { Known, Pace } from './pace.ts';

/** With fewer in flight the throughput may fall to this: then those that went had only queued. */
const spared = 0.93;
/** So many standard errors are no chance. */
export const chance = 2;
/** By so many the gain of more in flight must exceed what is needed: else chance alone would raise them again and again. */
const margin = 0.5;

/** Another number of slots than was held. */
export interface Trial {
  kind: 'trial';
  /** The pace with what was held. */
  before: Pace;
  slots: number;
  /** Whether nothing but curiosity asked for it. */
  isProbe: boolean;
}

interface Verdict {
  isWorthIt: boolean;
  /** Whether more answers would not change it. */
  isClear: boolean;
  /** There is no queue at all: even more may be worth it. */
  isFree: boolean;
  /** The pace without a queue, if it has to be thought of anew. */
  free: Known;
}

/** More in flight must bring throughput, fewer must cost none. @param slots that were tried */
export function judge(trial: Trial, slots: number, pace: Pace, free: Known): Verdict {
  const { before } = trial;
  const isUp = slots > trial.slots;
  const more = pace.level / before.level;
  const gain = (more * before.mean) / pace.mean;
  const needed = isUp ? 1 + worthwhile * (more - 1) : spared;
  const error = Math.hypot(pace.error, before.error);
  const isCertain = Math.abs(gain - needed) > chance * error;
  const isWorthIt = gain >= needed + (isUp ? margin * error : 0);
  return {
    isWorthIt,
    isClear: isCertain || pace.error <= before.error / 2,
    isFree: isUp && pace.mean < before.mean * (1 + same),
    free: isWorthIt ? freeAfter() : freeBefore(),
  };

  function freeAfter(): Known {
    return isUp ? before : faster(free, pace);
  }

  /** What was held is as much as there is; but fewer, if those were tried, cannot have been faster than without a queue. */
  function freeBefore(): Known {
    const known = freeIfAll(before, trial.slots);
    return faster(known, isUp ? free : pace);
  }
}

/** Whatever was measured contains the queue, if there was one: the faster pace is nearer to that without. */
function faster(one: Known, other: Known): Known {
  const { mean, error } = one.mean <= other.mean ? one : other;
  return { mean, error };
}

/** The pace without a queue, if those are all the slots. */
function freeIfAll(pace: Pace, slots: number): Known {
  return { mean: (pace.mean * slots) / pace.level, error: pace.error };
}
