import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { backoffMs } from './line-errors.ts';

/** A `retry-after` is honoured up to this long. */
const maxPauseMs = 15 * 60_000;

interface Pause {
  until: number;
  failures: number;
}

/**
 * Holds a model back whose engine takes nothing (reliability.md, F19, F22, F33): no line is sent until the pause is over,
 * then one at a time until one is answered. Waiting costs no attempt of any line.
 */
export class Pauses {
  #clock: Clock;
  #random: Random;
  #pauses = new Map<string, Pause>();

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** How many lines may be sent: no limit, one probe, or none. */
  allowance(model: string, inFlight: number): number {
    const pause = this.#pauses.get(model);
    if (!pause) return Number.POSITIVE_INFINITY;
    if (this.#clock.monotonic() < pause.until) return 0;
    return inFlight === 0 ? 1 : 0;
  }

  /**
   * The engine refused. Returns the milliseconds until the next probe. Refusals that come back while it is paused already
   * do not lengthen the pause: they were sent before it.
   */
  refused(model: string, retryAfterSeconds: number | undefined): number {
    const now = this.#clock.monotonic();
    const pause = this.#pauses.get(model) ?? { until: 0, failures: 0 };
    if (now < pause.until) return pause.until - now;
    pause.failures++;
    const asked = (retryAfterSeconds ?? 0) * 1000;
    const ms = Math.min(maxPauseMs, Math.max(asked, backoffMs(pause.failures, this.#random.float())));
    pause.until = now + ms;
    this.#pauses.set(model, pause);
    return ms;
  }

  /** The engine answered, well or badly: it takes work again. */
  answered(model: string): void {
    this.#pauses.delete(model);
  }
}
