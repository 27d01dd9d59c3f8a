/** A pace, in milliseconds a unit of work, and its standard error as a share of it. */
export interface Known {
  mean: number;
  error: number;
}

/** So few answers know little of their own spread. */
const few = 4;

/** Milliseconds that an answer takes at least, where clocks are coarse. */
const least = 0.001;

/** Sums over answers: how long they took for the work they were, and how many were in flight. */
export class Pace {
  count = 0;
  #ms = 0;
  #work = 0;
  #inFlight = 0;
  // Squares, for how far the single answers are from the mean.
  #msMs = 0;
  #msWork = 0;
  #workWork = 0;
  #rate = 0;
  #rateRate = 0;

  /** @param inFlight when it was sent, itself included */
  add(ms: number, work: number, inFlight: number): void {
    this.count++;
    this.#ms += ms;
    this.#work += work;
    this.#inFlight += inFlight;
    this.#msMs += ms * ms;
    this.#msWork += ms * work;
    this.#workWork += work * work;
    const rate = work / Math.max(ms, least);
    this.#rate += rate;
    this.#rateRate += rate * rate;
  }

  merge(other: Pace): void {
    this.count += other.count;
    this.#ms += other.#ms;
    this.#work += other.#work;
    this.#inFlight += other.#inFlight;
    this.#msMs += other.#msMs;
    this.#msWork += other.#msWork;
    this.#workWork += other.#workWork;
    this.#rate += other.#rate;
    this.#rateRate += other.#rateRate;
  }

  copy(): Pace {
    const copy = new Pace();
    copy.merge(this);
    return copy;
  }

  /** Milliseconds a unit of work. */
  get mean(): number {
    return this.#ms / this.#work;
  }

  /**
   * The harmonic mean, to which the quick answers count most. Where times differ much, a queue shows in it with a quarter of
   * the answers: it makes the quick ones slow, and the slow ones hardly slower.
   */
  get quick(): Known {
    const mean = this.#rate / this.count;
    const variance = Math.max(0, this.#rateRate / this.count - mean * mean);
    return { mean: 1 / mean, error: (Math.sqrt(variance / this.count) / mean) * (1 + few / this.count) };
  }

  /** Milliseconds a request. */
  get time(): number {
    return this.#ms / this.count;
  }

  /** Requests in flight. */
  get level(): number {
    return this.#inFlight / this.count;
  }

  /** The work of a request. */
  get work(): number {
    return this.#work / this.count;
  }

  /**
   * The standard error of the mean, as a share of it. Long answers to much work are no error.
   */
  get error(): number {
    const { mean } = this;
    const squares = this.#msMs - 2 * mean * this.#msWork + mean * mean * this.#workWork;
    return (Math.sqrt(Math.max(0, squares)) / this.#ms) * (1 + few / this.count);
  }
}
