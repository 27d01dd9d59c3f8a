import type { Clock } from '../../base/clock.ts';

/** How fast bytes come, over the last seconds. */
export interface Pace {
  /** Bytes a second, now that `done` are here; 0 until that can be told. */
  at(done: number): number;
}

const windowMs = 5000;
const sampleMs = 250;

export function createPace(clock: Clock): Pace {
  const samples: { at: number; done: number }[] = [];
  return {
    at(done) {
      const now = clock.monotonic();
      const last = samples.at(-1);
      if (last === undefined || now - last.at >= sampleMs) samples.push({ at: now, done });
      while (samples.length > 2 && now - samples[0]!.at > windowMs) samples.shift();
      const first = samples[0]!;
      const elapsed = now - first.at;
      return elapsed < sampleMs ? 0 : Math.max(0, ((done - first.done) / elapsed) * 1000);
    },
  };
}
