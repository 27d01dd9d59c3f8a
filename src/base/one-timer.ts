import type { Clock, Timer } from './clock.ts';

/** As `clock.after` with always the same `ms`, but all that wait share one timer: it goes off for the oldest, then for the next. */
export function oneTimer(clock: Pick<Clock, 'monotonic' | 'after'>, ms: number): (fn: () => void) => Timer {
  /** Oldest first. */
  const waiting = new Set<{ until: number; fn: (() => void) | null }>();
  let timer: Timer | undefined;

  const ring = () => {
    timer = undefined;
    const due = [];
    for (const each of waiting) {
      const left = each.until - clock.monotonic();
      if (left > 0) {
        timer = clock.after(left, ring);
        break;
      }
      waiting.delete(each);
      due.push(each);
    }
    for (const each of due) each.fn?.();
  };

  return (fn) => {
    const each = { until: clock.monotonic() + ms, fn: fn as typeof fn | null };
    waiting.add(each);
    timer ??= clock.after(ms, ring);
    const cancel = () => {
      waiting.delete(each);
      // A set that grew old still points to what was taken out of it.
      each.fn = null;
      if (waiting.size > 0) return;
      timer?.cancel();
      timer = undefined;
    };
    return { cancel };
  };
}
