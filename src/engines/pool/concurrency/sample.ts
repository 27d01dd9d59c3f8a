import { LatencyStats } from './latency-stats.ts';

/** Sample sizes: rounds of all requests in flight, at least `min` answers, doubled up to `max` where they are unclear. */
const sizes = { rounds: 4, min: 12, max: 512 } as const;
/** Relative error of the mean at which half of the sample suffices. */
const smallError = 0.01;
/** Share of answers that must arrive at full load. */
const minFull = 0.75;

/** Answers since the last change of the limit. */
export class Sample {
  readonly stats = new LatencyStats();
  #full = 0;
  #size: number;
  #skip: number;

  /** @param skip answers to ignore, because their requests were sent before */
  constructor(maxInFlight: number, skip = 0) {
    this.#size = Math.max(sizes.min, sizes.rounds * maxInFlight);
    this.#skip = skip;
  }

  add(ms: number, work: number, inFlight: number, isFull: boolean, totalMs = ms): void {
    if (this.#skip-- > 0) return;
    this.stats.add(ms, work, inFlight, totalMs);
    if (isFull) this.#full++;
  }

  get isKnown(): boolean {
    const { count, error } = this.stats;
    return count >= this.#size || (count >= this.#size / 2 && error < smallError);
  }

  /** True where the sample shows the server's limit, not a lack of requests. */
  get isFull(): boolean {
    return this.#full >= this.stats.count * minFull;
  }

  /** Doubles the sample. @returns false where it is large enough */
  extend(): boolean {
    if (this.#size >= sizes.max) return false;
    this.#size *= 2;
    return true;
  }
}
