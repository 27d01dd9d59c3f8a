/**
 * Values that `run` puts while it works, in order; those put since the last read come as one list. A failure of `run` is
 * thrown after all values before it. When the reader stops, the signal that `run` got aborts.
 */
export async function* pushIterable<T>(
  signal: AbortSignal,
  run: (signal: AbortSignal, put: (list: readonly T[]) => void) => Promise<void>,
): AsyncGenerator<T[]> {
  const abandoned = new AbortController();
  const waiting: T[] = [];
  let isOver = false;
  let change = Promise.withResolvers<void>();
  const running = run(AbortSignal.any([signal, abandoned.signal]), (list) => {
    waiting.push(...list);
    change.resolve();
  }).finally(() => {
    isOver = true;
    change.resolve();
  });
  // Awaited at the end.
  running.catch(() => {});
  try {
    for (;;) {
      if (waiting.length > 0) {
        yield waiting.splice(0);
      } else if (isOver) {
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
