import type { Clock, Timer } from './clock.ts';
import { type ListEntry, addEntry, removeEntry } from './swap-remove-list.ts';

class Waiting implements ListEntry, Timer {
  index = 0;
  readonly until: number;
  readonly fn: () => void;
  readonly #cancel: (own: Waiting) => void;

  constructor(until: number, fn: () => void, cancel: (own: Waiting) => void) {
    this.until = until;
    this.fn = fn;
    this.#cancel = cancel;
  }

  cancel(): void {
    this.#cancel(this);
  }
}

/** `clock.after` for one fixed delay: all callers share one system timer, set for the oldest. */
export function createSharedTimer(
  clock: Pick<Clock, 'monotonic' | 'after'>,
  ms: number,
): (fn: () => void) => Timer {
  const waiting: Waiting[] = [];
  let timer: Timer | undefined;

  const ring = () => {
    const now = clock.monotonic();
    const next = waiting.reduce(
      (least, { until }) => (until > now ? Math.min(least, until) : least),
      Infinity,
    );
    timer = next === Infinity ? undefined : clock.after(next - now, ring);
    const due = waiting.filter(({ until }) => until <= now).toSorted((a, b) => a.until - b.until);
    for (const each of due) if (removeEntry(waiting, each)) each.fn();
  };

  const cancel = (own: Waiting) => {
    removeEntry(waiting, own);
    if (waiting.length > 0) return;
    timer?.cancel();
    timer = undefined;
  };

  return (fn) => {
    const own = new Waiting(clock.monotonic() + ms, fn, cancel);
    addEntry(waiting, own);
    timer ??= clock.after(ms, ring);
    return own;
  };
}
