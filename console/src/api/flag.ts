import { useSyncExternalStore } from 'react';

/** A state of the page that is on or off. */
export function createFlag(initial: boolean) {
  let value = initial;
  const listeners = new Set<() => void>();
  /** Calls a listener with each change. Returns a function that removes it. */
  const on = (listener: (value: boolean) => void) => {
    const call = () => listener(value);
    listeners.add(call);
    return () => listeners.delete(call);
  };
  return {
    set: (next: boolean): void => {
      if (next === value) return;
      value = next;
      for (const listener of listeners) listener();
    },
    on,
    use: (): boolean => useSyncExternalStore(on, () => value),
  };
}
