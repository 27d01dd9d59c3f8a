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
