/** A pace, in milliseconds per unit of work, and its relative standard error. */
interface Estimate {
  pace: number;
  error: number;
}

export interface LatencyEstimate {
  mean: Estimate;
  /** Pace that 30 % of the answers undercut. */
  p30: Estimate;
  /** Relative standard deviation of single answers. */
  spread: number;
  /** Number of answers. */
  count: number;
}

const quantile = 0.3;
/** Correction for samples this small, which underestimate their own spread. */
const smallSample = 4;
/** Sample size at which answers of every kind are included. */
const representative = 64;

/** Latencies of answers relative to their work, and the concurrency at the server meanwhile. */
export class LatencyStats {
  #paces: number[] = [];
  #ms = 0;
  #work = 0;
  #inFlight = 0;
  #totalMs = 0;
  // Sums of squares, for the deviation of single answers from the mean.
  #msMs = 0;
  #msWork = 0;
  #workWork = 0;

  /** @param inFlight including itself @param totalMs including the wait until it was read here; scales `inFlight` down */
  add(ms: number, work: number, inFlight: number, totalMs = ms): void {
    this.#paces.push(ms / work);
    this.#ms += ms;
    this.#work += work;
    this.#totalMs += totalMs;
    this.#inFlight += totalMs === 0 ? inFlight : (inFlight * ms) / totalMs;
    this.#msMs += ms * ms;
    this.#msWork += ms * work;
    this.#workWork += work * work;
  }

  merge(other: LatencyStats): void {
    for (const pace of other.#paces) this.#paces.push(pace);
    this.#ms += other.#ms;
    this.#totalMs += other.#totalMs;
    this.#work += other.#work;
    this.#inFlight += other.#inFlight;
    this.#msMs += other.#msMs;
    this.#msWork += other.#msWork;
    this.#workWork += other.#workWork;
  }

  copy(): LatencyStats {
    const copy = new LatencyStats();
    copy.merge(this);
    return copy;
  }

  get count(): number {
    return this.#paces.length;
  }

  /** Mean milliseconds per unit of work. */
  get mean(): number {
    return this.#ms / this.#work;
  }

  /** Mean milliseconds per request. */
  get meanMs(): number {
    return this.#ms / this.count;
  }

  /** Mean number of requests at the server. */
  get concurrency(): number {
    return this.#inFlight / this.count;
  }

  /** Share of the time in flight that the requests spent at the server. */
  get serverShare(): number {
    return this.#totalMs === 0 ? 1 : this.#ms / this.#totalMs;
  }

  /** Mean work of a request. */
  get meanWork(): number {
    return this.#work / this.count;
  }

  /** Relative standard error of the mean. Longer answers to more work add no error. */
  get error(): number {
    return (this.spread / Math.sqrt(this.count)) * (1 + smallSample / this.count);
  }

  /** Relative standard deviation of single answers. */
  get spread(): number {
    const { mean, count } = this;
    const squares = this.#msMs - 2 * mean * this.#msWork + mean * mean * this.#workWork;
    return Math.sqrt(Math.max(0, squares * count)) / this.#ms;
  }

  get estimate(): LatencyEstimate {
    const { mean, error, spread, count } = this;
    return { mean: { pace: mean, error }, p30: this.#p30, spread, count };
  }

  /**
   * 30th percentile. It shows a queue with half the answers, because a queue slows quick answers most; delays in this process
   * and answers that never end do not affect it. The error comes from the ranks within one standard deviation.
   */
  get #p30(): Estimate {
    const sorted = this.#paces.toSorted((a, b) => a - b);
    const last = sorted.length - 1;
    const at = (rank: number) => sorted[Math.max(0, Math.min(last, Math.round(rank)))]!;
    const deviation = Math.sqrt(sorted.length * quantile * (1 - quantile));
    const pace = at(quantile * last);
    const error = (at(quantile * last + deviation) - at(quantile * last - deviation)) / 2 / pace;
    const own = error * (1 + smallSample / sorted.length);
    return { pace, error: sorted.length >= representative ? own : Math.max(own, this.error) };
  }
}
