import { useSyncExternalStore } from 'react';
import { exactTime, relativeTime, toMs } from './format.ts';

/** Relative times are as old as this at most, in milliseconds. */
const tickMs = 10_000;

const listeners = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

function tick(): void {
  now = Date.now();
  for (const listener of listeners) listener();
}

/** One timer for all times of the page. */
function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (timer === undefined) {
    now = Date.now();
    timer = setInterval(tick, tickMs);
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** Current time in epoch milliseconds, renewed every ten seconds. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

/** An instant relative to now, with the exact one as its tooltip. Shows a dash for null. */
export function Time({ at }: { at: string | number | null | undefined }) {
  const current = useNow();
  if (at === null || at === undefined) return <>–</>;
  const ms = toMs(at);
  return (
    <time dateTime={new Date(ms).toISOString()} title={exactTime(ms)}>
      {relativeTime(ms, current)}
    </time>
  );
}
