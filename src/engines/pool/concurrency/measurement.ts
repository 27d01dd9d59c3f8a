import type { Pace, Throughput } from './throughput.ts';

/** A request in flight. */
export interface SentRequest {
  /** Monotonic milliseconds. */
  at: number;
  /** Requests in flight when it was sent, itself included. */
  inFlight: number;
  /** Milliseconds in flight of all requests until then. */
  load: number;
  /** Measurement that it belongs to, if any. */
  measurement: Measurement | null;
}

/** An answer, with the number of requests at the server meanwhile. */
interface MeasuredAnswer {
  ms: number;
  work: number;
  inFlight: number;
  /** Time including the wait until this process read the answer; scales `inFlight` down. */
  totalMs: number;
}

/** Share of the requests whose answers suffice. */
const minAnswered = 0.6;
/** Correction for samples this small, which underestimate their own spread. */
const smallSample = 4;
const quantile = 0.3;
/** Sample size at which answers of every kind are included. */
const representative = 64;

/**
 * Measures the throughput at one limit, from requests that were sent one after the other since it applies. Answers to earlier
 * requests say nothing about it, because they hardly queued. The time of open requests so far counts as a lower bound.
 */
export class Measurement {
  #size: number;
  #joined = 0;
  #lastAt = 0;
  #full = 0;
  readonly #open = new Set<SentRequest>();
  readonly #sums = new Sums();

  /** @param size number of requests */
  constructor(size: number) {
    this.#size = size;
  }

  join(sent: SentRequest): void {
    if (this.#joined >= this.#size) return;
    this.#joined++;
    this.#lastAt = sent.at;
    this.#open.add(sent);
    sent.measurement = this;
  }

  leave(sent: SentRequest): void {
    if (this.#open.delete(sent)) this.#joined--;
  }

  answered(sent: SentRequest, answer: MeasuredAnswer, isFull: boolean): void {
    if (!this.#open.delete(sent)) return;
    this.#sums.add(answer);
    if (isFull) this.#full++;
    // Answers that arrive before all have joined suffice from half of the requests on.
    if (this.#joined >= this.#size / 2) this.#size = Math.max(this.#joined, 1);
  }

  /** True once enough requests were answered, and the last one had its time. */
  isKnown(now: number): boolean {
    if (this.#joined < this.#size) return false;
    if (this.#open.size === 0) return true;
    if (this.#sums.count < minAnswered * this.#size) return false;
    return now - this.#lastAt > this.#sums.meanMs * 1.1;
  }

  /** Share of the answers that arrived while as many requests were in flight as permitted. */
  get fullShare(): number {
    return this.#full / this.#sums.count;
  }

  /** Share of the time in flight that the requests spent at the server, and not waiting to be read here. */
  get serverShare(): number {
    return this.#sums.serverShare;
  }

  /** @param load milliseconds in flight of all requests until now */
  throughput(now: number, load: number): Throughput {
    const all = this.#sums.copy();
    const { meanWork, serverShare } = this.#sums;
    for (const sent of this.#open) {
      const ms = now - sent.at;
      all.add({ ms, work: meanWork, inFlight: meanInFlight(sent, now, load), totalMs: ms / serverShare });
    }
    return all.throughput;
  }
}

/** Mean number of requests in flight since a request was sent. */
export function meanInFlight(sent: SentRequest, now: number, load: number): number {
  return now > sent.at ? (load - sent.load) / (now - sent.at) : sent.inFlight;
}

class Sums {
  count = 0;
  paces: number[] = [];
  ms = 0;
  work = 0;
  inFlight = 0;
  totalMs = 0;
  // Sums of squares, for the deviation of single answers from the mean.
  msMs = 0;
  msWork = 0;
  workWork = 0;

  add({ ms, work, inFlight, totalMs }: MeasuredAnswer): void {
    this.count++;
    this.paces.push(ms / work);
    this.ms += ms;
    this.work += work;
    this.totalMs += totalMs;
    this.inFlight += totalMs === 0 ? inFlight : (inFlight * ms) / totalMs;
    this.msMs += ms * ms;
    this.msWork += ms * work;
    this.workWork += work * work;
  }

  copy(): Sums {
    return Object.assign(new Sums(), this, { paces: [...this.paces] });
  }

  get throughput(): Throughput {
    const { spread, count } = this;
    const mean = { ms: this.pace, error: errorOf(spread, count) };
    return { inFlight: this.meanInFlight, mean, quick: this.quick(mean.error), spread, count };
  }

  /** Milliseconds per unit of work. */
  get pace(): number {
    return this.ms / this.work;
  }

  get meanMs(): number {
    return this.ms / this.count;
  }

  get meanWork(): number {
    return this.work / this.count;
  }

  get meanInFlight(): number {
    return this.inFlight / this.count;
  }

  get serverShare(): number {
    return this.totalMs === 0 ? 1 : this.ms / this.totalMs;
  }

  /** Relative standard deviation of single answers. Longer answers to more work add none. */
  get spread(): number {
    const { pace, count } = this;
    const squares = this.msMs - 2 * pace * this.msWork + pace * pace * this.workWork;
    return Math.sqrt(Math.max(0, squares * count)) / this.ms;
  }

  /** The error comes from the ranks within one standard deviation. @param least error of samples without every kind of answer */
  quick(least: number): Pace {
    const sorted = this.paces.toSorted((a, b) => a - b);
    const last = sorted.length - 1;
    const at = (rank: number) => sorted[Math.max(0, Math.min(last, Math.round(rank)))]!;
    const deviation = Math.sqrt(sorted.length * quantile * (1 - quantile));
    const ms = at(quantile * last);
    const error = (at(quantile * last + deviation) - at(quantile * last - deviation)) / 2 / ms;
    const own = errorOf(error * Math.sqrt(sorted.length), sorted.length);
    return { ms, error: sorted.length >= representative ? own : Math.max(own, least) };
  }
}

function errorOf(spread: number, count: number): number {
  return (spread / Math.sqrt(count)) * (1 + smallSample / count);
}
