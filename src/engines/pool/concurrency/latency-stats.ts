/** A pace, in milliseconds a unit of work, and its standard error as a share of it. */
interface Estimate {
  pace: number;
  error: number;
}

/** How fast answers come on the average, and how fast the quick ones do. */
export interface LatencyEstimate {
  mean: Estimate;
  p30: Estimate;
  /** The standard deviation of single answers, as a share of the mean. */
  spread: number;
  /** Of how many it is known. */
  count: number;
}

/** The share of the answers that are quicker than what is taken for the pace. */
const quicker = 0.3;
/** So few answers know little of their own spread. */
const few = 4;
/** So many have answers of every kind among them. */
const many = 64;

/** How long answers took for the work they were, and how many were at the server meanwhile. */
export class LatencyStats {
  #paces: number[] = [];
  #ms = 0;
  #work = 0;
  #inFlight = 0;
  #wholeMs = 0;
  // Squares, for how far the single answers are from the mean.
  #msMs = 0;
  #msWork = 0;
  #workWork = 0;

  /**
   * @param inFlight when it was sent, itself included
   * @param wholeMs with what it then waited here until it was read: of those in flight as large a share was at the server
   */
  add(ms: number, work: number, inFlight: number, wholeMs = ms): void {
    this.#paces.push(ms / work);
    this.#ms += ms;
    this.#work += work;
    this.#wholeMs += wholeMs;
    this.#inFlight += wholeMs === 0 ? inFlight : (inFlight * ms) / wholeMs;
    this.#msMs += ms * ms;
    this.#msWork += ms * work;
    this.#workWork += work * work;
  }

  merge(other: LatencyStats): void {
    for (const pace of other.#paces) this.#paces.push(pace);
    this.#ms += other.#ms;
    this.#wholeMs += other.#wholeMs;
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

  /** Milliseconds a unit of work. */
  get mean(): number {
    return this.#ms / this.#work;
  }

  /** Milliseconds a request. */
  get time(): number {
    return this.#ms / this.count;
  }

  /** Requests at the server. */
  get level(): number {
    return this.#inFlight / this.count;
  }

  /** The share of the time in flight that they were at the server. */
  get share(): number {
    return this.#wholeMs === 0 ? 1 : this.#ms / this.#wholeMs;
  }

  /** The work of a request. */
  get work(): number {
    return this.#work / this.count;
  }

  /**
   * The standard error of the mean, as a share of it. Long answers to much work are no error, and a few answers know
   * little of their own spread.
   */
  get error(): number {
    return (this.spread / Math.sqrt(this.count)) * (1 + few / this.count);
  }

  /** The standard deviation of the single answers, as a share of the mean. */
  get spread(): number {
    const { mean, count } = this;
    const squares = this.#msMs - 2 * mean * this.#msWork + mean * mean * this.#workWork;
    return Math.sqrt(Math.max(0, squares * count)) / this.#ms;
  }

  get estimate(): LatencyEstimate {
    const { mean, error, spread, count } = this;
    return { mean: { pace: mean, error }, p30: this.#quick, spread, count };
  }

  /**
   * The pace of the quick ones, in which a queue shows with half the answers: it makes quick answers slow and slow ones
   * hardly slower. What keeps us from taking answers for a moment, or one that takes for ever, is no matter to it. Whatever is
   * as near in rank as chance may have it tells the error.
   */
  get #quick(): Estimate {
    const sorted = this.#paces.toSorted((a, b) => a - b);
    const last = sorted.length - 1;
    const at = (rank: number) => sorted[Math.max(0, Math.min(last, Math.round(rank)))]!;
    const by = Math.sqrt(sorted.length * quicker * (1 - quicker));
    const pace = at(quicker * last);
    const error = (at(quicker * last + by) - at(quicker * last - by)) / 2 / pace;
    const own = error * (1 + few / sorted.length);
    return { pace, error: sorted.length >= many ? own : Math.max(own, this.error) };
  }
}
