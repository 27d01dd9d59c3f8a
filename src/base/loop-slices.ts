import { RoundRobinQueue } from './round-robin-queue.ts';

/**
 * Gives callers one turn of the event loop each, so that long blocking work of one does not add up with that of others: owners in
 * round robin, the callers of one owner in order.
 */
export class LoopSlices {
  readonly #waiting = new RoundRobinQueue<() => void>();
  #isScheduled = false;

  /** Resolves at the beginning of the turn. @param owner for whom the work is done, such as an org */
  next(owner = ''): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.add(owner, resolve);
      this.#schedule();
    });
  }

  /** Runs a generator to its end: its first step at once, every other one in a turn of its own. */
  async run<T>(owner: string, work: Generator<undefined, T>): Promise<T> {
    for (;;) {
      const { done, value } = work.next();
      if (done) return value;
      await this.next(owner);
    }
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.size === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      const turn = this.#waiting.peek();
      if (turn) {
        this.#waiting.dequeue(...turn);
        turn[1]();
      }
      this.#schedule();
    });
  }
}

/** Turns of this process for blocking work of more than some tenths of a millisecond: there is one event loop. */
export const heavySlices = new LoopSlices();
