import { randomFillSync } from 'node:crypto';
import type { Clock } from './clock.ts';
import type { Random } from './random.ts';

/** The only adapter to the machine's time and randomness; a lint rule keeps their globals out of every other file. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, fn) {
    const timer = setTimeout(fn, ms);
    timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
};

/** The clock of a command: the process lives at least until its timers rang. */
export const wakefulClock: Clock = {
  ...systemClock,
  after(ms, fn) {
    const timer = setTimeout(fn, ms);
    return { cancel: () => clearTimeout(timer) };
  },
};

export const systemRandom: Random = {
  bytes: (n) => randomFillSync(new Uint8Array(n)),
  float: () => Math.random(),
};

/** The transport of the command line's client; the server speaks undici. */
export const systemFetch: typeof fetch = (input, init) => fetch(input, init);
