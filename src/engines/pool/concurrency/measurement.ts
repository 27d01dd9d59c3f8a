import { type MeasuredAnswer, meanPace, type Throughput, throughputOf } from './throughput.ts';

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

/** Least and most answers of whole rounds. */
const sizes = { min: 12, max: 1024 } as const;
/** Relative error at which half of them suffice. */
const smallError = 0.01;
/** Without whole rounds: share of the requests that must be answered, and time for the last one, in mean times of an answer. */
const early = { answered: 0.6, time: 1.1 } as const;

/**
 * Measures the throughput at one limit, from requests that were sent one after the other since it applies. Answers to earlier
 * requests say nothing about it, because they hardly queued.
 */
export class Measurement {
  #size: number;
  readonly #isWhole: boolean;
  #joined = 0;
  #lastAt = 0;
  #full = 0;
  readonly #open = new Set<SentRequest>();
  readonly #answers: MeasuredAnswer[] = [];

  /**
   * @param rounds rounds of all requests that must be answered; null to take one round as soon as it shows the throughput: the
   * time of open requests so far is a lower bound
   */
  constructor(limit: number, rounds: number | null) {
    this.#isWhole = rounds !== null;
    this.#size = rounds === null ? limit : Math.max(sizes.min, Math.min(sizes.max, rounds * limit));
  }

  join(sent: SentRequest): void {
    if (!this.#isWhole && this.#joined >= this.#size) return;
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
    this.#answers.push(answer);
    if (isFull) this.#full++;
    // Answers that arrive before all have joined suffice from half of the requests on.
    if (!this.#isWhole && this.#joined >= this.#size / 2) this.#size = Math.max(this.#joined, 1);
  }

  /** True once enough requests were answered, and the last one had its time. */
  isKnown(now: number): boolean {
    const count = this.#answers.length;
    if (this.#isWhole)
      return count >= this.#size || (count >= this.#size / 2 && meanPace(this.#answers).error < smallError);
    if (this.#joined < this.#size) return false;
    if (this.#open.size === 0) return true;
    if (count < early.answered * this.#size) return false;
    return now - this.#lastAt > early.time * meanOf(this.#answers, 'ms');
  }

  /** Share of the answers that arrived while as many requests were in flight as permitted. */
  get fullShare(): number {
    return this.#full / this.#answers.length;
  }

  /** @param load milliseconds in flight of all requests until now */
  throughput(now: number, load: number): Throughput {
    const known = throughputOf(this.#answers);
    if (this.#isWhole || this.#open.size === 0) return known;
    const work = meanOf(this.#answers, 'work');
    const open = [...this.#open].map((sent) => {
      const ms = now - sent.at;
      return { ms, work, inFlight: meanInFlight(sent, now, load), totalMs: ms / known.serverShare };
    });
    return throughputOf([...this.#answers, ...open]);
  }
}

/** Mean number of requests in flight since a request was sent. */
export function meanInFlight(sent: SentRequest, now: number, load: number): number {
  return now > sent.at ? (load - sent.load) / (now - sent.at) : sent.inFlight;
}

function meanOf(answers: readonly MeasuredAnswer[], what: 'ms' | 'work'): number {
  return answers.reduce((sum, answer) => sum + answer[what], 0) / answers.length;
}
