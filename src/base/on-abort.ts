const waiting = Symbol('waiting');
type Watched = AbortSignal & { [waiting]?: Set<{ fn: (() => void) | null }> };

/**
 * Calls `fn` when `signal` aborts. All that wait for a signal share one listener: for a new one it walks through those it has,
 * and the lines of a batch, hundreds at a time, wait for the same signal.
 * @param fn one that does not throw
 * @returns what takes it off again
 */
export function onAbort(signal: Watched, fn: () => void): () => void {
  const own = { fn: fn as typeof fn | null };
  let all = signal[waiting];
  if (!all) {
    const first = (all = signal[waiting] = new Set());
    signal.addEventListener('abort', () => {
      for (const each of first) each.fn?.();
    });
  }
  all.add(own);
  return () => {
    signal[waiting]?.delete(own);
    // A set that grew old still points to what was taken out of it: that must not hold a call and its bodies with it.
    own.fn = null;
  };
}

/**
 * Waits for `work`, which cannot be called off, for as long as `signal` has not aborted.
 * @throws the signal's reason
 */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason as Error);
  const forget = onAbort(signal, abort);
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    forget();
    work.catch(() => {});
  }
}
