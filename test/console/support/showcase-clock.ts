import { performance } from 'node:perf_hooks';
import type { Clock } from '../../../src/base/clock.ts';
import { systemClock } from '../../../src/base/system.ts';

/** Clock of a server whose past is made in a minute: it jumps over days and runs faster than the machine's. */
export interface ShowcaseClock extends Clock {
  /** Jumps forward. */
  skip(ms: number): void;
  /** Jumps to `ms` before the time of the machine. */
  skipToBeforeNow(ms: number): void;
  run(speed: number): void;
  /** Milliseconds of the machine for a time of this clock. */
  realMs(ms: number): number;
}

/** @param ageMs how far it begins before the time of the machine */
export function createShowcaseClock(ageMs: number): ShowcaseClock {
  const epoch = performance.timeOrigin - ageMs;
  let speed = 1;
  /** Time of the machine and of this clock, both monotonic, at the last change of speed. */
  let since = { real: 0, own: 0 };
  const at = (real: number) => since.own + (real - since.real) * speed;
  const change = (by: number, next: number) => {
    const real = performance.now();
    since = { real, own: at(real) + by };
    speed = next;
  };
  const now = () => Math.round(epoch + at(performance.now()));
  return {
    now,
    monotonic: () => at(performance.now()),
    arrival: () => at(systemClock.arrival()),
    after: (ms, fn) => systemClock.after(ms / speed, fn),
    skip: (ms) => change(ms, speed),
    skipToBeforeNow: (ms) => change(Math.max(0, Date.now() - ms - now()), speed),
    run: (next) => change(0, next),
    realMs: (ms) => ms / speed,
  };
}
