import { performance } from 'node:perf_hooks';
import { randomFillSync } from 'node:crypto';
import type { Clock } from './clock.ts';
import type { Random } from './random.ts';

/** Only adapter to the machine's time and randomness: a lint rule bans their globals elsewhere. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  arrival,
  after(ms, fn) {
    if (ms <= 0) {
      const next = setImmediate(fn);
      return { cancel: () => clearImmediate(next) };
    }
    const timer = setTimeout(fn, ms);
    timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
};

/** Clock for commands: pending timers keep the process alive. */
export const keepAliveClock: Clock = {
  ...systemClock,
  after(ms, fn) {
    const timer = setTimeout(fn, ms);
    return { cancel: () => clearTimeout(timer) };
  },
};

/** Event loop turn of the latest `arrival`. */
const read = { turn: -1, at: 0, idleMs: 0, since: 0 };

/**
 * Data read in this turn of the event loop arrived now if the loop was idle before, else after the previous turn polled. Turns
 * without a call are not seen: their duration counts as network time.
 */
function arrival(): number {
  const { idleTime, uvMetricsInfo } = performance.nodeTiming;
  if (uvMetricsInfo.loopCount !== read.turn) {
    const at = performance.now();
    read.since = idleTime > read.idleMs ? at : (read.at + at) / 2;
    read.turn = uvMetricsInfo.loopCount;
    read.at = at;
    read.idleMs = idleTime;
  }
  return read.since;
}

/** Filled by the operating system a page at a time: one call per id would cost more than its bytes. */
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
    // No byte is used twice or remains in memory.
    pool[drawn] = 0;
  }
  return bytes;
}

export const systemRandom: Random = { bytes: randomBytes, float: () => Math.random() };

/** HTTP transport of the command line; the server uses undici. */
export const systemFetch: typeof fetch = (input, init) => fetch(input, init);
