/** Runs a generator to its end; the event loop serves other work at each `yield`. */
export async function runCooperatively<T>(work: Generator<undefined, T>): Promise<T> {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Gives callers one turn of the event loop each, in order, so that long blocking work of one does not add up with that of others. */
export class LoopSlices {
  #last: Promise<void> = Promise.resolve();

  /** Resolves at the beginning of the turn. */
  next(): Promise<void> {
    this.#last = this.#last.then(() => new Promise((resolve) => setImmediate(resolve)));
    return this.#last;
  }
}
