import type { Clock } from '../../base/clock.ts';
import { Counts } from '../../base/counts.ts';

/** Lines of a model that are sent per turn of the event loop. */
const maxPerTurn = 2;

/**
 * Spreads lines over turns of the event loop. Requests sent together are answered together: 64 at a time would block the
 * loop for 15 ms at every exchange.
 */
export class SendPacer {
  #clock: Clock;
  #onNext: () => void;
  #turn = Number.NaN;
  /** Lines sent in this turn, by model. */
  #sent = new Counts();
  #isScheduled = false;

  /** @param onNext called in the next turn after `scheduleNext` */
  constructor(clock: Clock, onNext: () => void) {
    this.#clock = clock;
    this.#onNext = onNext;
  }

  /** Number of lines of a model that may still be sent in this turn. */
  left(model: string): number {
    const turn = this.#clock.arrival();
    if (turn !== this.#turn) this.#sent.clear();
    this.#turn = turn;
    return maxPerTurn - this.#sent.of(model);
  }

  sent(model: string, lines: number): void {
    this.#sent.add(model, lines);
  }

  scheduleNext(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#clock.after(0, () => {
      this.#isScheduled = false;
      this.#sent.clear();
      this.#onNext();
    });
  }
}
