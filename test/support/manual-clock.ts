import type { Clock } from '../../src/base/clock.ts';

/** A clock that stands still until a test moves it. */
export interface ManualClock extends Clock {
  /** Moves on by `ms`, running every timer on the way in order and letting what it woke up settle. */
  advance(ms: number): Promise<void>;
  /** Moves on by `ms` without running a timer, as when the process stands still: they fire late, with the next advance. */
  stall(ms: number): void;
  /** Sets the wall clock, forwards or back; the monotonic one does not notice. */
  jump(ms: number): void;
  /** Timers that have not fired. */
  readonly pending: number;
}

export function createManualClock(start = Date.UTC(2026, 0, 1)): ManualClock {
  let elapsed = 0;
  let jumped = 0;
  const timers = new Map<object, { at: number; fn: () => void }>();

  const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
  const due = (until: number) =>
    [...timers].filter(([, { at }]) => at <= until).toSorted(([, a], [, b]) => a.at - b.at)[0];

  return {
    now: () => start + elapsed + jumped,
    stall: (ms) => void (elapsed += ms),
    jump: (ms) => (jumped += ms),
    monotonic: () => elapsed,
    arrival: () => elapsed,
    after(ms, fn) {
      const key = { cancel: () => void timers.delete(key) };
      timers.set(key, { at: elapsed + ms, fn });
      return key;
    },
    async advance(ms) {
      const until = elapsed + ms;
      await settle();
      for (let next = due(until); next; next = due(until)) {
        const [key, { at, fn }] = next;
        timers.delete(key);
        elapsed = Math.max(elapsed, at);
        fn();
        await settle();
      }
      elapsed = until;
      await settle();
    },
    get pending() {
      return timers.size;
    },
  };
}
