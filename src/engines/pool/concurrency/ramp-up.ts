import type { LatencyEstimate, LatencyStats } from './latency-stats.ts';

/**
 * Factors of a step. Each step is verified before the next, so a queue hardly exceeds half the slots: from the first few
 * requests to three times as many, which 16 slots take, and then in smaller steps.
 */
const factors = { start: 3, grow: 1.4, min: 1.1, costly: 1.25 } as const;
/** Smallest step worth making. */
const minStep = 1.08;
/** Share of the additional requests that must show as additional throughput. */
export const minGain = 0.33;
/** Relative difference below which paces are equal. */
export const equalWithin = 0.1;
/** Relative difference below which paces are merged; more would hide a queue that grows slowly. */
const mergeWithin = 0.03;
/** Spread of answers that take equally long, so that a wait shows in each. */
const steadySpread = 0.15;
/** Spread above which answers differ by themselves, not because they arrive in step and some wait for others. */
const mixedSpread = 0.4;
/** Number of answers at which the spread is known. */
const manyAnswers = 50;
/** Largest reduction of a step for its uncertainty. */
const maxDoubt = 0.1;
/** Standard errors that count as significant. Slowdowns need more: stopping too early costs more than one step too many. */
const significance = { slower: 3, faster: 2 } as const;

export const unknownLatency: LatencyEstimate = {
  mean: { pace: 0, error: 0 },
  p30: { pace: 0, error: 0 },
  spread: 0,
  count: 0,
};

/** Slow start: finds a server's limit. @param isSeeded the start is near it @param before latencies at a verified limit */
export function createRampUp(isSeeded = false, before: LatencyStats | null = null) {
  let baseline = before?.copy() ?? null;
  let last = before;
  let isDoubtful = false;
  let worthwhileConcurrency = before?.concurrency ?? 0;

  return {
    /** True where it resumes from a verified limit. Others may share the server, so each step is measured as a whole. */
    isRegrowth: before !== null,
    /** Pace without a queue. */
    get baseline() {
      return baseline?.estimate ?? unknownLatency;
    },
    /** Largest concurrency that raised throughput although each request took longer. */
    get worthwhileConcurrency() {
      return worthwhileConcurrency;
    },
    /** Returns the factor of the next step; 1 to measure again with all requests in flight, 0 where more only cost time. */
    next(stats: LatencyStats): number {
      if (baseline === null || last === null) {
        baseline = stats.copy();
        last = stats;
        return step(isSeeded ? factors.costly : factors.start, stats);
      }
      const { slowdown, error } = slowdownSince(stats.estimate, baseline.estimate);
      if (slowdown < Math.max(equalWithin, significance.slower * error)) {
        last = stats;
        isDoubtful = false;
        const isFaster = slowdown < -Math.max(equalWithin, significance.faster * error);
        // The first requests are slow: connections are opened and code is compiled.
        if (isFaster) baseline = stats.copy();
        else if (slowdown < Math.max(mergeWithin, error)) baseline.merge(stats);
        if (isFaster || isSeeded) return step(factors.costly, stats);
        const doubt = Math.max(0, slowdown + Math.min(maxDoubt, error / 2));
        return step(Math.max(factors.min, factors.grow / (1 + doubt)), stats);
      }
      // The first requests after a step find slots just freed, so a slowdown is measured twice.
      isDoubtful = !isDoubtful;
      if (isDoubtful) return 1;
      const slower = stats.mean / last.mean;
      const more = stats.concurrency / last.concurrency;
      const factor = factors.costly / slower;
      if (more / slower - 1 < minGain * (more - 1) || factor < minStep) return 0;
      last = stats;
      worthwhileConcurrency = stats.concurrency;
      return step(factor, stats);
    },
  };
}

/** Requests that wait to be read here are not at the server, so the step is reduced by their share. */
function step(factor: number, stats: LatencyStats): number {
  return Math.max(minStep, factor * stats.serverShare);
}

/** Share of the time that requests do not queue. Quick answers queue as long as all others. */
export function queueFreeShare(now: LatencyEstimate, baseline: LatencyEstimate): number {
  const { by } = slowdownSince(now, baseline);
  return 1 - (now[by].pace - baseline[by].pace) / now.mean.pace;
}

interface Slowdown {
  by: 'mean' | 'p30';
  slowdown: number;
  error: number;
}

/**
 * Relative slowdown and its standard error, by the figure that shows it best. Where latencies differ, p30 shows a queue that
 * delays all answers soonest. Where answers arrive in step, some wait and the quick ones do not; the mean shows that against
 * the earlier spread.
 */
export function slowdownSince(now: LatencyEstimate, before: LatencyEstimate): Slowdown {
  const p30 = compare('p30', now, before, now.p30.error);
  if (Math.max(now.spread, before.spread) >= mixedSpread) return p30;
  if (before.spread < steadySpread) return compare('mean', now, before, before.spread / Math.sqrt(now.count));
  if (Math.min(now.count, before.count) < manyAnswers) return p30;
  const mean = compare('mean', now, before, now.mean.error);
  return clarity(mean) > clarity(p30) ? mean : p30;
}

function compare(by: Slowdown['by'], now: LatencyEstimate, before: LatencyEstimate, error: number): Slowdown {
  const slowdown = now[by].pace / before[by].pace - 1;
  return { by, slowdown, error: Math.hypot(error, before[by].error) };
}

function clarity({ slowdown, error }: Slowdown): number {
  return slowdown / (error + 0.001);
}
