import { LatencyStats } from './latency-stats.ts';

/** A request in flight. */
export interface SentRequest {
  /** Monotonic milliseconds. */
  at: number;
  /** Requests in flight when it was sent, itself included. */
  inFlight: number;
  /** Cohort that it belongs to, if any. */
  cohort: Cohort | null;
}

/** Share of a cohort whose answers suffice. */
const minAnswered = 0.6;

/** Requests sent one after the other. They show the pace early: the time of open requests so far counts as a lower bound. */
export class Cohort {
  #size: number;
  readonly #minSize: number;
  #joined = 0;
  #lastAt = 0;
  readonly #open = new Set<SentRequest>();
  readonly #answers = new LatencyStats();

  /** @param maxSize largest number of members; @param minSize members after which an answer closes the cohort */
  constructor(maxSize: number, minSize: number) {
    this.#size = maxSize;
    this.#minSize = Math.min(maxSize, minSize);
  }

  join(sent: SentRequest): void {
    if (this.#joined >= this.#size) return;
    this.#joined++;
    this.#lastAt = sent.at;
    this.#open.add(sent);
    sent.cohort = this;
  }

  leave(sent: SentRequest): void {
    if (this.#open.delete(sent)) this.#joined--;
  }

  /** @param totalMs time including the wait until this process read the answer */
  answered(sent: SentRequest, ms: number, work: number, totalMs = ms): void {
    if (!this.#open.delete(sent)) return;
    this.#answers.add(ms, work, sent.inFlight, totalMs);
    if (this.#joined >= this.#minSize) this.#size = this.#joined;
  }

  /** True once enough members answered and the last one had its time. */
  isKnown(now: number): boolean {
    if (this.#joined < this.#size) return false;
    if (this.#open.size === 0) return true;
    if (this.#answers.count < minAnswered * this.#size) return false;
    return now - this.#lastAt > this.#answers.meanMs * 1.1;
  }

  stats(now: number): LatencyStats {
    const all = this.#answers.copy();
    const { meanWork, serverShare } = this.#answers;
    for (const { at, inFlight } of this.#open)
      all.add(now - at, meanWork, inFlight, (now - at) / serverShare);
    return all;
  }
}
