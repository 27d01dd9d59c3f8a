/**
 * Time as a port: only `base/system.ts` reads the machine's clocks, and the simulation passes its own.
 * Instants are whole milliseconds since the Unix epoch, UTC.
 */
export interface Clock {
  /** Wall clock. It may jump, so never subtract two readings to measure a duration. */
  now(): number;
  /** Milliseconds from an arbitrary origin; never goes back. */
  monotonic(): number;
  /** Earliest `monotonic` time at which the network data being read can have arrived: before now if the process was busy. */
  arrival(): number;
  /** Calls `fn` once after `ms`; with 0, after pending I/O. A pending timer does not keep the process alive. */
  after(ms: number, fn: () => void): Timer;
}

export interface Timer {
  cancel(): void;
}

/** Clock with a wall clock of its own, and the rest of another clock. */
export abstract class DerivedClock implements Clock {
  protected readonly source: Clock;

  constructor(source: Clock) {
    this.source = source;
  }

  abstract now(): number;

  monotonic(): number {
    return this.source.monotonic();
  }

  arrival(): number {
    return this.source.arrival();
  }

  after(ms: number, fn: () => void): Timer {
    return this.source.after(ms, fn);
  }
}

/** Resolves after `ms`, or as soon as `signal` aborts. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const finish = () => {
      timer.cancel();
      signal?.removeEventListener('abort', finish);
      resolve();
    };
    const timer = clock.after(ms, finish);
    signal?.addEventListener('abort', finish, { once: true });
  });
}

/** Bounds on the current time, as the wall clock may have jumped; for decisions that destroy data. */
export interface TimeBounds {
  /** For expiry: errs on the late side. */
  earliest(): number;
  /** For leases: errs on the long side. */
  latest(): number;
}

/** Compares the wall clock with its reading at creation plus the monotonic time since. */
export function createTimeBounds(clock: Clock): TimeBounds {
  const began = clock.now() - clock.monotonic();
  return {
    earliest: () => Math.floor(Math.min(clock.now(), clock.monotonic() + began)),
    latest: () => Math.ceil(Math.max(clock.now(), clock.monotonic() + began)),
  };
}

/** `2026-11-21T09:30:00Z`: an instant in the API, without fractions. */
export function isoSeconds(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** Whole seconds since the epoch, as in files and chat completions. */
export function unixSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}

export const dayMs = 86_400_000;

export const hourMs = 3_600_000;

/** `2026-11-21T09`, the UTC hour of a ledger row. */
export function utcHour(ms: number): string {
  const hour = Math.floor(ms / hourMs) % 24;
  return `${utcDay(ms)}T${hour < 10 ? '0' : ''}${hour}`;
}

/** `2026-11-21`, the UTC day. */
export function utcDay(ms: number): string {
  const day = Math.floor(ms / dayMs);
  if (day !== lastDay) {
    lastDayText = new Date(ms).toISOString().slice(0, 10);
    lastDay = day;
  }
  return lastDayText;
}

/** Cache of one: consecutive calls nearly always ask for the same day. */
let lastDay = Number.NaN;
let lastDayText = '';
