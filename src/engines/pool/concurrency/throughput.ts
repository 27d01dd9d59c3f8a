/** An answer, with the number of requests at the server meanwhile. */
export interface MeasuredAnswer {
  ms: number;
  work: number;
  inFlight: number;
  /** Time including the wait until this process read the answer; scales `inFlight` down. */
  totalMs: number;
}

/** Throughput of a server with a number of requests in flight. */
export interface Throughput {
  /** Mean number of requests at the server. */
  inFlight: number;
  /** Mean milliseconds of a request per unit of its work. */
  mean: Pace;
  /** Pace that 30 % of the answers undercut. */
  quick: Pace;
  /** Relative standard deviation of single answers. Longer answers to more work add none. */
  spread: number;
  /** Number of answers. */
  count: number;
  /** Share of the time in flight that the requests spent at the server, and not waiting to be read here. */
  serverShare: number;
}

interface Pace {
  ms: number;
  /** Relative standard error. */
  error: number;
}

/**
 * Spread from which the quick answers are compared: where answers differ by themselves, a queue shows in those soonest, and the
 * longest of them say least.
 */
const mixedSpread = 0.4;
const quantile = 0.3;
/** Correction for samples this small, which underestimate their own spread, and the size from which every kind of answer is included. */
const samples = { small: 4, representative: 64 } as const;

/** @param answers at least one */
export function throughputOf(answers: readonly MeasuredAnswer[]): Throughput {
  const count = answers.length;
  let [ms, totalMs, inFlight] = [0, 0, 0];
  for (const answer of answers) {
    ms += answer.ms;
    totalMs += answer.totalMs;
    inFlight += answer.totalMs === 0 ? answer.inFlight : (answer.inFlight * answer.ms) / answer.totalMs;
  }
  const { spread, ...mean } = meanPace(answers);
  const serverShare = totalMs === 0 ? 1 : ms / totalMs;
  return {
    inFlight: inFlight / count,
    mean,
    quick: quickPace(answers, mean.error),
    spread,
    count,
    serverShare,
  };
}

export function meanPace(answers: readonly MeasuredAnswer[]): Pace & { spread: number } {
  const count = answers.length;
  let [ms, work, squares] = [0, 0, 0];
  for (const answer of answers) {
    ms += answer.ms;
    work += answer.work;
  }
  const pace = ms / work;
  for (const answer of answers) squares += (answer.ms - pace * answer.work) ** 2;
  const spread = Math.sqrt(squares * count) / ms;
  return { ms: pace, error: (spread / Math.sqrt(count)) * (1 + samples.small / count), spread };
}

/** The error comes from the ranks within one standard deviation. @param least error of samples without every kind of answer */
function quickPace(answers: readonly MeasuredAnswer[], least: number): Pace {
  const sorted = answers.map(({ ms, work }) => ms / work).toSorted((a, b) => a - b);
  const last = sorted.length - 1;
  const at = (rank: number) => sorted[Math.max(0, Math.min(last, Math.round(rank)))]!;
  const deviation = Math.sqrt(sorted.length * quantile * (1 - quantile));
  const ms = at(quantile * last);
  const spread = (at(quantile * last + deviation) - at(quantile * last - deviation)) / 2 / ms;
  const error = spread * (1 + samples.small / sorted.length);
  return { ms, error: sorted.length >= samples.representative ? error : Math.max(error, least) };
}

/** Throughput of `to` relative to `from` by Little's law, with its doubt, and its requests in flight. */
export function compare(from: Throughput, to: Throughput) {
  const by = Math.max(from.spread, to.spread) < mixedSpread ? 'mean' : 'quick';
  const more = to.inFlight / from.inFlight;
  const change = from[by].ms / to[by].ms;
  // The spread that comes with more requests is that of their queue.
  const own = by === 'mean' && from.spread < to.spread ? from.spread / to.spread : 1;
  const doubt = more * change * Math.hypot(from[by].error, to[by].error * own);
  return { more, change, gain: more * change, doubt };
}

/** Number of requests at which throughput stops growing: from `low` on in proportion, up to that of `high`. */
export function knee(low: Throughput, high: Throughput): number {
  return low.inFlight * Math.max(1, compare(low, high).gain);
}

/** The highest number that `knee` may be, within one standard error. */
export function highestKnee(low: Throughput, high: Throughput): number {
  const { gain, doubt } = compare(low, high);
  return low.inFlight * Math.max(1, gain + doubt);
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
    serverShare: mean(a.serverShare, b.serverShare),
  };
}

/** The higher of both throughputs, because pauses of this process lower them; both as one where answers differ by themselves. */
export function best(a: Throughput | null, b: Throughput): Throughput {
  if (!a || Math.max(a.spread, b.spread) >= mixedSpread) return pool(a, b);
  return a.inFlight / a.mean.ms > b.inFlight / b.mean.ms ? a : b;
}
