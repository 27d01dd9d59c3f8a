import { LatencyStats } from './latency-stats.ts';

/** A request on its way. */
export interface SentRequest {
  /** Monotonic milliseconds. */
  at: number;
  /** How many were in flight then, itself included. */
  inFlight: number;
  /** The one it is counted in, if any. */
  cohort: Cohort | null;
}

/** The share of a cohort that is waited for, and until its last one had its time: the quick ones tell of all. */
const enough = 0.6;

/**
 * Requests that were sent one after the other. They tell early how fast the quick ones are: those still open have taken as
 * long as they have so far, at least.
 */
export class Cohort {
  #size: number;
  #fewest: number;
  #joined = 0;
  #lastAt = 0;
  #open = new Set<SentRequest>();
  #answers = new LatencyStats();

  /** @param size it takes at most; @param fewest it waits for, if one of them is answered meanwhile */
  constructor(size: number, fewest: number) {
    this.#size = size;
    this.#fewest = Math.min(size, fewest);
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

  /** @param wholeMs with what it then waited here until it was read */
  answered(sent: SentRequest, ms: number, work: number, wholeMs = ms): void {
    if (!this.#open.delete(sent)) return;
    this.#answers.add(ms, work, sent.inFlight, wholeMs);
    if (this.#joined >= this.#fewest) this.#size = this.#joined;
  }

  isKnown(now: number): boolean {
    if (this.#joined < this.#size) return false;
    if (this.#open.size === 0) return true;
    if (this.#answers.count < enough * this.#size) return false;
    return now - this.#lastAt > this.#answers.time * 1.1;
  }

  pace(now: number): LatencyStats {
    const all = this.#answers.copy();
    const { work, share } = this.#answers;
    for (const { at, inFlight } of this.#open) all.add(now - at, work, inFlight, (now - at) / share);
    return all;
  }
}
