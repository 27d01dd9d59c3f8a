import type { Clock } from '../../base/clock.ts';
import type { LineRate } from '../../core/worker-load.ts';

/** Busy time after which the measured past counts half: the rate is that of the last minutes in which lines ran. */
const windowMs = 120_000;
/** Shortest busy time that gives a rate. */
const minMs = 250;

interface Measure {
  inFlight: number;
  /** Monotonic milliseconds of the last change while lines were in flight. */
  at: number;
  busyMs: number;
  tokens: number;
}

/** Estimated tokens per second of completed lines, by model id, over the time in which lines of the model were in flight. */
export class Throughput {
  #clock: Pick<Clock, 'monotonic'>;
  #models = new Map<string, Measure>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  sent(model: string): void {
    const measure = this.#models.get(model) ?? { inFlight: 0, at: 0, busyMs: 0, tokens: 0 };
    this.#models.set(model, measure);
    if (measure.inFlight === 0) measure.at = this.#clock.monotonic();
    else this.#advance(measure);
    measure.inFlight++;
  }

  /** Counts a result. @param tokens as estimated before */
  answered(model: string, tokens: number): void {
    const measure = this.#models.get(model)!;
    this.#advance(measure);
    measure.tokens += tokens;
    if (measure.busyMs < windowMs) return;
    measure.busyMs /= 2;
    measure.tokens /= 2;
  }

  /** Counts the end of a line in flight, with or without a result. */
  landed(model: string): void {
    const measure = this.#models.get(model)!;
    this.#advance(measure);
    measure.inFlight--;
  }

  /** Rates of the models that completed lines. */
  rates(): Record<string, LineRate> {
    const rates: Record<string, LineRate> = {};
    for (const [model, measure] of this.#models) {
      if (measure.inFlight > 0) this.#advance(measure);
      const { busyMs, tokens, inFlight, at } = measure;
      if (tokens === 0 || busyMs < minMs) continue;
      const idleMs = inFlight > 0 ? 0 : Math.round(this.#clock.monotonic() - at);
      rates[model] = { tokensPerSecond: (tokens * 1_000) / busyMs, idleMs };
    }
    return rates;
  }

  #advance(measure: Measure): void {
    const now = this.#clock.monotonic();
    measure.busyMs += now - measure.at;
    measure.at = now;
  }
}
