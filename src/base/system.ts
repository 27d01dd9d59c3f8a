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

/** Drawn from the operating system a page at a time: a call for the few bytes of an id costs more than its bytes. */
const pool = new Uint8Array(4096);
let drawn = pool.length;

function randomBytes(n: number): Uint8Array {
  if (n > pool.length) return randomFillSync(new Uint8Array(n));
  if (drawn + n > pool.length) {
    randomFillSync(pool);
    drawn = 0;
  }
  const bytes = new Uint8Array(n);
  for (let at = 0; at < n; at += 1, drawn += 1) {
    bytes[at] = pool[drawn]!;
    // No byte is handed out twice, nor kept.
    pool[drawn] = 0;
  }
  return bytes;
}

export const systemRandom: Random = {
  bytes: randomBytes,
  float: () => Math.random(),
};

/** The transport of the command line's client; the server speaks undici. */
export const systemFetch: typeof fetch = (input, init) => fetch(input, init);
