/**
 * Yields the values that `run` puts, in order; those put since the last read are one list. A failure of `run` is thrown after
 * all values before it. When the reader stops, the signal of `run` aborts.
 */
export async function* pushIterable<T>(
  signal: AbortSignal,
  run: (signal: AbortSignal, put: (list: readonly T[]) => void) => Promise<void>,
): AsyncGenerator<T[]> {
  const abandoned = new AbortController();
  const waiting: T[] = [];
  let hasEnded = false;
  let change = Promise.withResolvers<void>();
  const running = run(AbortSignal.any([signal, abandoned.signal]), (list) => {
    waiting.push(...list);
    change.resolve();
  }).finally(() => {
    hasEnded = true;
    change.resolve();
  });
  // Awaited at the end.
  running.catch(() => {});
  try {
    for (;;) {
      if (waiting.length > 0) {
        yield waiting.splice(0);
      } else if (hasEnded) {
        return await running;
      } else {
        await change.promise;
        change = Promise.withResolvers();
      }
    }
  } finally {
    abandoned.abort(new Error('The stream was abandoned.'));
  }
}
