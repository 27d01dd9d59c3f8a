import { slowdownSince, worthwhile } from './ramp-up.ts';
import type { LatencyEstimate, LatencyStats } from './latency-stats.ts';

/** With fewer in flight the throughput may fall to this: then those that went had only queued. */
const spared = 0.95;
/** So many standard errors are no chance. */
export const chance = 2;

/** Another number of slots than was held. */
export interface Trial {
  kind: 'trial';
  /** The pace with what was held. */
  before: LatencyStats;
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
  free: LatencyEstimate;
}

/** More in flight must bring throughput, fewer must cost none. @param slots that were tried */
export function judge(trial: Trial, slots: number, pace: LatencyStats, free: LatencyEstimate): Verdict {
  const { before } = trial;
  const isUp = slots > trial.slots;
  const more = pace.level / before.level;
  const gain = (more * before.mean) / pace.mean;
  const doubt = Math.hypot(pace.error, before.error);
  const needed = isUp ? 1 + worthwhile * (more - 1) : spared;
  // Half of what they would bring, or cost, if none of them waits.
  const half = (1 + more) / 2;
  const { slowdown, error } = slowdownSince(pace.estimate, before.estimate);
  const isFree = isUp && slowdown + error < half - 1 && gain >= half;
  const isWorthIt = isUp ? isFree || gain >= needed + doubt / 2 : gain >= spared && gain - doubt > half;
  const isCertain = isFree || Math.abs(gain - needed) > chance * doubt;
  return {
    isWorthIt,
    isClear: isCertain || pace.error <= before.error / 2,
    isFree,
    free: isWorthIt === isUp ? freeIfAll(trial) : free,
  };
}

/** The pace without a queue, if what was held are all the slots: none but its headroom waited, and none of the quick ones. */
function freeIfAll({ before, slots }: Trial): LatencyEstimate {
  const { estimate: known } = before;
  return { ...known, mean: { ...known.mean, pace: known.mean.pace * Math.min(1, slots / before.level) } };
}
