import type { Clock, Timer } from './clock.ts';
import { type Listed, putIn, takeOut } from './unordered.ts';

interface Waiting extends Listed {
  until: number;
  fn: () => void;
}

/** As `clock.after` with always the same `ms`, but all that wait share one timer: it goes off for the oldest, then for the next. */
export function oneTimer(clock: Pick<Clock, 'monotonic' | 'after'>, ms: number): (fn: () => void) => Timer {
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
    for (const each of due) if (takeOut(waiting, each)) each.fn();
  };

  return (fn) => {
    const each = { until: clock.monotonic() + ms, fn, place: 0 };
    putIn(waiting, each);
    timer ??= clock.after(ms, ring);
    const cancel = () => {
      takeOut(waiting, each);
      if (waiting.length > 0) return;
      timer?.cancel();
      timer = undefined;
    };
    return { cancel };
  };
}
