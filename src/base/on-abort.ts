import { type ListEntry, addEntry, removeEntry } from './swap-remove-list.ts';

interface Waiting extends ListEntry {
  fn: () => void;
}

const waiting = Symbol('waiting');
type Watched = AbortSignal & { [waiting]?: Waiting[] };

/**
 * Calls `fn` when `signal` aborts, in no particular order. All callbacks of a signal share one listener: adding a listener walks
 * through the existing ones, and hundreds of lines of a batch wait for the same signal.
 * @param fn must not throw
 * @returns function that removes the callback
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

/** Returns a controller that also aborts with `signal`, for as long as `forget` is not called. */
export function abortedWith(signal: AbortSignal): { controller: AbortController; forget: () => void } {
  const controller = new AbortController();
  return { controller, forget: onAbort(signal, () => controller.abort(signal.reason)) };
}

/** Waits for `work`, which cannot be cancelled, until `signal` aborts. @throws the reason of the signal */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const forget = onAbort(signal, () => aborted.reject(signal.reason as Error));
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    forget();
    work.catch(() => {});
  }
}

/** Promise of an event that may have no waiters: a rejection without them is no error. */
export function newEvent(): PromiseWithResolvers<void> {
  const event = Promise.withResolvers<void>();
  event.promise.catch(() => {});
  return event;
}
