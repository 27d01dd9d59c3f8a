import { LatencyStats } from './latency-stats.ts';

/** Answers in a sample: rounds of all in flight, doubled up to `most` where they are not clear. */
const sizes = { rounds: 4, least: 12, most: 512 } as const;
/** Where the mean is known this well, half as many do. */
const sure = 0.01;
/** The share of answers that must have come while about as many were in flight as may be. */
const full = 0.75;

/** The answers that came since something was changed. */
export class Sample {
  readonly pace = new LatencyStats();
  #full = 0;
  #size: number;
  #skip: number;

  /** @param inFlight at most; @param skip answers to requests that were sent before */
  constructor(inFlight: number, skip = 0) {
    this.#size = Math.max(sizes.least, sizes.rounds * inFlight);
    this.#skip = skip;
  }

  add(ms: number, work: number, inFlight: number, isFull: boolean, wholeMs = ms): void {
    if (this.#skip-- > 0) return;
    this.pace.add(ms, work, inFlight, wholeMs);
    if (isFull) this.#full++;
  }

  get isKnown(): boolean {
    const { count, error } = this.pace;
    return count >= this.#size || (count >= this.#size / 2 && error < sure);
  }

  /** Whether it tells of the server's limit, rather than of how little there was to do. */
  get isFull(): boolean {
    return this.#full >= this.pace.count * full;
  }

  /** Waits for as many once more. False where it is long enough. */
  extend(): boolean {
    if (this.#size >= sizes.most) return false;
    this.#size *= 2;
    return true;
  }
}
