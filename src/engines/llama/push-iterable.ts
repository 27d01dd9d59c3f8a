/**
 * What is put while `run` works, in order; what came since the last look comes in one list. A failure of `run` is thrown when
 * all before it was given. A caller that stops reading wants no more of it: then its signal aborts.
 */
export async function* pushIterable<T>(
  signal: AbortSignal,
  run: (signal: AbortSignal, put: (list: readonly T[]) => void) => Promise<void>,
): AsyncGenerator<T[]> {
  const left = new AbortController();
  const waiting: T[] = [];
  let isOver = false;
  let news = Promise.withResolvers<void>();
  const running = run(AbortSignal.any([signal, left.signal]), (list) => {
    waiting.push(...list);
    news.resolve();
  }).finally(() => {
    isOver = true;
    news.resolve();
  });
  // It is looked at when everything before was given.
  running.catch(() => {});
  try {
    for (;;) {
      if (waiting.length > 0) {
        yield waiting.splice(0);
      } else if (isOver) {
        return await running;
      } else {
        await news.promise;
        news = Promise.withResolvers();
      }
    }
  } finally {
    left.abort(new Error('The stream was left.'));
  }
}
