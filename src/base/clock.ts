/**
 * Time as a port. Everything outside `base/system.ts` asks a `Clock`; the simulation passes its own.
 * All instants are whole milliseconds since the Unix epoch, UTC.
 */
export interface Clock {
  /** The wall clock. It may jump; never subtract two of its readings to measure a duration. */
  now(): number;
  /** A clock that never goes back, in milliseconds from an arbitrary origin. */
  monotonic(): number;
  /**
   * Since when what is being read from the network may have been here, by `monotonic`: this process may have been busy
   * until now.
   */
  arrival(): number;
  /** Calls `fn` once after `ms`; after 0 when what has come meanwhile was heard. A pending timer does not keep the process alive. */
  after(ms: number, fn: () => void): Timer;
}

export interface Timer {
  cancel(): void;
}

/** Resolves after `ms`, or at once (without throwing) when `signal` aborts. */
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

/**
 * A wall clock that may jump, for whoever would destroy something by it: what it says, and what it said when this was made
 * with the time that passed since.
 */
export interface TimeBounds {
  /** The earlier of the two. What ends by it ends too late rather than too early. */
  earliest(): number;
  /** The later of the two. What lasts by it lasts too long rather than too short. */
  latest(): number;
}

export function createTimeBounds(clock: Clock): TimeBounds {
  const began = clock.now() - clock.monotonic();
  return {
    earliest: () => Math.floor(Math.min(clock.now(), clock.monotonic() + began)),
    latest: () => Math.ceil(Math.max(clock.now(), clock.monotonic() + began)),
  };
}

/** `2026-11-21T09:30:00Z`: the API's form of an instant, without fractions (api.md, section 5). */
export function isoSeconds(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** Whole seconds since the epoch, as files and chat completions carry them. */
export function unixSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}

export const dayMs = 86_400_000;

/** `2026-11-21`, the UTC day a ledger row belongs to. */
export function utcDay(ms: number): string {
  const day = Math.floor(ms / dayMs);
  if (day !== lastDay) {
    lastDayText = new Date(ms).toISOString().slice(0, 10);
    lastDay = day;
  }
  return lastDayText;
}

/** The day that was asked for last, which nearly always is the one asked for next. */
let lastDay = Number.NaN;
let lastDayText = '';
