import type { Clock } from '../../../src/base/clock.ts';

export interface ManualClock extends Clock {
  /** Moves time and runs what became due, in order. */
  advance(ms: number): void;
  /** How many timers wait. */
  readonly pending: number;
}

/** A clock that moves when a test says so. */
export function createManualClock(start = Date.UTC(2026, 10, 21, 12)): ManualClock {
  let now = start;
  let timers: { at: number; fn: () => void }[] = [];
  const next = (until: number) =>
    timers.filter((timer) => timer.at <= until).toSorted((a, b) => a.at - b.at)[0];
  return {
    now: () => now,
    monotonic: () => now - start,
    after(ms, fn) {
      const timer = { at: now + ms, fn };
      timers.push(timer);
      return { cancel: () => void (timers = timers.filter((other) => other !== timer)) };
    },
    advance(ms) {
      const until = now + ms;
      for (let timer = next(until); timer; timer = next(until)) {
        const due = timer;
        timers = timers.filter((other) => other !== due);
        now = Math.max(now, due.at);
        due.fn();
      }
      now = until;
    },
    get pending() {
      return timers.length;
    },
  };
}
