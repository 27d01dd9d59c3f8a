import type { Clock } from '../../src/base/clock.ts';

/** Clock that only a test moves. */
export interface ManualClock extends Clock {
  /** Advances by `ms`, fires due timers in order, and waits for the work that they start. */
  advance(ms: number): Promise<void>;
  /** Advances by `ms` without firing timers, as if the process was suspended: they fire late, at the next advance. */
  stall(ms: number): void;
  /** Moves the wall clock forward or back; the monotonic clock stays. */
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
