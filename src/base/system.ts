import { randomFillSync } from 'node:crypto';
import type { Clock } from './clock.ts';
import type { Random } from './random.ts';

/** The only adapter to the machine's time and randomness; a lint rule keeps their globals out of every other file. */
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

/** The clock of a command: the process lives at least until its timers rang. */
export const keepAliveClock: Clock = {
  ...systemClock,
  after(ms, fn) {
    const timer = setTimeout(fn, ms);
    return { cancel: () => clearTimeout(timer) };
  },
};

/** The turn of the event loop in which something was read last, and the one before it. */
const read = { turn: -1, at: 0, idleMs: 0, since: 0 };

/**
 * What is read in a turn of the event loop came after the turn before had looked, if nothing was waited for between them, else
 * just now. A turn in which nobody asked is not known of: what it kept from being read counts as time on the way.
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
