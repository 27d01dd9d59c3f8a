/** Throughput of a server with so many requests in flight. */
export interface Throughput {
  /** Mean number of requests at the server. */
  inFlight: number;
  /** Mean milliseconds of a request per unit of its work. */
  mean: Pace;
  /** Pace that 30 % of the answers undercut. */
  quick: Pace;
  /** Relative standard deviation of single answers. */
  spread: number;
  /** Number of answers. */
  count: number;
}

export interface Pace {
  ms: number;
  /** Relative standard error. */
  error: number;
}

/**
 * Spread from which the quick answers are compared: where answers differ by themselves, a queue shows in those soonest, and the
 * longest of them say least.
 */
const mixedSpread = 0.4;
/** Share of the additional requests that must show as additional throughput. */
const minGain = 0.33;
/** Relative difference below which paces are merged; more would hide a queue that grows slowly. */
const equalWithin = 0.03;

/** Throughput of `to` relative to `from` by Little's law, with its doubt, and its requests in flight. */
export function compare(from: Throughput, to: Throughput) {
  const by = Math.max(from.spread, to.spread) < mixedSpread ? 'mean' : 'quick';
  const more = to.inFlight / from.inFlight;
  const change = from[by].ms / to[by].ms;
  return {
    more,
    change,
    gain: more * change,
    doubt: more * change * Math.hypot(from[by].error, to[by].error),
  };
}

/** Gain that makes more requests worth it. */
export function neededGain(more: number): number {
  return 1 + minGain * (more - 1);
}

/** Number of requests at which throughput stops growing: from `low` on in proportion, up to that of `high`. */
export function knee(low: Throughput, high: Throughput): number {
  return low.inFlight * Math.max(1, compare(low, high).gain);
}

/** The later measurement; with the answers of the earlier one, too, where requests did not become slower. */
export function merge(before: Throughput, after: Throughput): Throughput {
  const { change, gain, doubt } = compare(before, after);
  if (Math.abs(change - 1) > Math.max(equalWithin, doubt / gain)) return after;
  return { ...pool(before, after), inFlight: after.inFlight };
}

/** Both measurements as one. */
export function pool(a: Throughput | null, b: Throughput): Throughput {
  if (!a) return b;
  const count = a.count + b.count;
  const mean = (x: number, y: number) => (x * a.count + y * b.count) / count;
  const pace = (x: Pace, y: Pace): Pace => ({
    ms: mean(x.ms, y.ms),
    error: Math.hypot(x.error * a.count, y.error * b.count) / count,
  });
  return {
    inFlight: mean(a.inFlight, b.inFlight),
    mean: pace(a.mean, b.mean),
    quick: pace(a.quick, b.quick),
    spread: mean(a.spread, b.spread),
    count,
  };
}
