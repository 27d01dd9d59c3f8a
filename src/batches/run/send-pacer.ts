import type { Clock } from '../../base/clock.ts';

/** Lines of a model that are sent between two looks at what has come. */
const maxPerTurn = 2;

/**
 * Sends lines a few a turn of the event loop. What is sent together comes back together: 64 lines at a time would keep the
 * loop from single requests for 15 ms, when they are sent and whenever they are answered, for as long as the batch runs.
 */
export class SendPacer {
  #clock: Clock;
  /** More may be sent. */
  #onNext: () => void;
  #turn = Number.NaN;
  /** By model, in this turn. */
  #sent = new Map<string, number>();
  #goesOn = false;

  constructor(clock: Clock, onNext: () => void) {
    this.#clock = clock;
    this.#onNext = onNext;
  }

  /** How many lines of a model may still be sent in this turn. */
  left(model: string): number {
    const turn = this.#clock.arrival();
    if (turn !== this.#turn) this.#sent.clear();
    this.#turn = turn;
    return maxPerTurn - (this.#sent.get(model) ?? 0);
  }

  sent(model: string, lines: number): void {
    this.#sent.set(model, (this.#sent.get(model) ?? 0) + lines);
  }

  /** There is more to send. */
  scheduleNext(): void {
    if (this.#goesOn) return;
    this.#goesOn = true;
    this.#clock.after(0, () => {
      this.#goesOn = false;
      this.#sent.clear();
      this.#onNext();
    });
  }
}
