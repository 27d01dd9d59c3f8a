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

  /** @param inFlight when it was sent, itself included */
  add(ms: number, work: number, inFlight: number): void {
    this.count++;
    this.#ms += ms;
    this.#work += work;
    this.#inFlight += inFlight;
    this.#msMs += ms * ms;
    this.#msWork += ms * work;
    this.#workWork += work * work;
  }

  merge(other: Pace): void {
    this.count += other.count;
    this.#ms += other.#ms;
    this.#work += other.#work;
    this.#inFlight += other.#inFlight;
    this.#msMs += other.#msMs;
    this.#msWork += other.#msWork;
    this.#workWork += other.#workWork;
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
   * The standard error of the mean, as a share of it. Long answers to much work are no error, and a few answers know
   * little of their own spread.
   */
  get error(): number {
    const { mean } = this;
    const squares = this.#msMs - 2 * mean * this.#msWork + mean * mean * this.#workWork;
    return (Math.sqrt(Math.max(0, squares)) / this.#ms) * (1 + 4 / this.count);
  }
}
