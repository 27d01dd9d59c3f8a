import { type ListEntry, addEntry, removeEntry } from './swap-remove-list.ts';

interface Waiting extends ListEntry {
  fn: () => void;
}

const waiting = Symbol('waiting');
type Watched = AbortSignal & { [waiting]?: Waiting[] };

/**
 * Calls `fn` when `signal` aborts, among others in any order. All that wait for a signal share one listener: for a new one it
 * walks through those it has, and the lines of a batch, hundreds at a time, wait for the same signal.
 * @param fn one that does not throw
 * @returns what takes it off again
 */
export function onAbort(signal: Watched, fn: () => void): () => void {
  const own = { fn, index: 0 };
  const all = signal[waiting] ?? watch(signal);
  addEntry(all, own);
  return () => void removeEntry(all, own);
}

function watch(signal: Watched): Waiting[] {
  const all: Waiting[] = (signal[waiting] = []);
  signal.addEventListener('abort', () => {
    for (let [each] = all; each; [each] = all) {
      removeEntry(all, each);
      each.fn();
    }
  });
  return all;
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
