import type { LatencyEstimate, LatencyStats } from './latency-stats.ts';
import { minGain, slowdownSince } from './ramp-up.ts';

/** Share of the throughput that must remain with fewer requests in flight; the others then had only queued. */
const minThroughput = 0.95;
/** Standard errors that count as significant. */
export const significance = 2;

/** A limit under test, beside the one that was held. */
export interface Trial {
  kind: 'trial';
  /** Latencies at the held limit. */
  before: LatencyStats;
  /** The held limit. */
  slots: number;
  /** True for a periodic probe, false where latencies suggested another limit. */
  isProbe: boolean;
}

interface Verdict {
  isWorthIt: boolean;
  /** True where more answers would not change the verdict. */
  isClear: boolean;
  /** True where nothing queues, so that even more requests may be worth it. */
  isQueueFree: boolean;
  /** Pace without a queue, as known after the trial. */
  baseline: LatencyEstimate;
}

/** Judges a trial: more requests must raise throughput, fewer must not lower it. @param slots the limit under test */
export function judge(trial: Trial, slots: number, stats: LatencyStats, baseline: LatencyEstimate): Verdict {
  const { before } = trial;
  const isUp = slots > trial.slots;
  const more = stats.concurrency / before.concurrency;
  const gain = (more * before.mean) / stats.mean;
  const doubt = Math.hypot(stats.error, before.error);
  const needed = isUp ? 1 + minGain * (more - 1) : minThroughput;
  // Half of the change in throughput that is expected where nothing queues.
  const half = (1 + more) / 2;
  const { slowdown, error } = slowdownSince(stats.estimate, before.estimate);
  const isQueueFree = isUp && slowdown + error < half - 1 && gain >= half;
  const isWorthIt = isUp
    ? isQueueFree || gain >= needed + doubt / 2
    : gain >= minThroughput && gain - doubt > half;
  const isCertain = isQueueFree || Math.abs(gain - needed) > significance * doubt;
  return {
    isWorthIt,
    isClear: isCertain || stats.error <= before.error / 2,
    isQueueFree,
    baseline: isWorthIt === isUp ? baselineOf(trial) : baseline,
  };
}

/** Pace without a queue if the held limit equals the slots: only the headroom queued, and none of the quick answers. */
function baselineOf({ before: { estimate, concurrency }, slots }: Trial): LatencyEstimate {
  const pace = estimate.mean.pace * Math.min(1, slots / concurrency);
  return { ...estimate, mean: { ...estimate.mean, pace } };
}
