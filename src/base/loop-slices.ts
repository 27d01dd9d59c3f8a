/** Runs work that pauses by itself; at each pause everything else is served. */
export async function runCooperatively<T>(work: Generator<undefined, T>): Promise<T> {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/**
 * Gives each caller a turn of the event loop of its own, one after the other: what is long and cannot be interrupted is done
 * one at a time, and everything else is served in between.
 */
export class LoopSlices {
  #last: Promise<void> = Promise.resolve();

  /** Resolves at the beginning of the turn. */
  next(): Promise<void> {
    this.#last = this.#last.then(() => new Promise((resolve) => setImmediate(resolve)));
    return this.#last;
  }
}
