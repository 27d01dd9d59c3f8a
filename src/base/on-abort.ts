const waiting = Symbol('waiting');
type Watched = AbortSignal & { [waiting]?: Set<() => void> };

/**
 * Calls `fn` when `signal` aborts. All that wait for a signal share one listener: for a new one it walks through those it has,
 * and the lines of a batch, hundreds at a time, wait for the same signal.
 * @param fn one that does not throw
 */
export function onAbort(signal: Watched, fn: () => void): void {
  const known = signal[waiting];
  if (known) return void known.add(fn);
  const all = (signal[waiting] = new Set([fn]));
  signal.addEventListener('abort', () => {
    for (const each of all) each();
  });
}

/** Takes `fn` off again. */
export function offAbort(signal: Watched, fn: () => void): void {
  signal[waiting]?.delete(fn);
}

/**
 * Waits for `work`, which cannot be called off, for as long as `signal` has not aborted.
 * @throws the signal's reason
 */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason as Error);
  onAbort(signal, abort);
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    offAbort(signal, abort);
    work.catch(() => {});
  }
}
