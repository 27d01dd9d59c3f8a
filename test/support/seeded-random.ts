import type { Random } from '../../src/base/random.ts';

/** Random numbers determined by a seed. Streams made by `fork` are independent. */
export interface SeededRandom extends Random {
  /** Returns an integer from `least` to `most`, inclusive. */
  int(least: number, most: number): number;
  chance(probability: number): boolean;
  pick<T>(from: readonly T[]): T;
  fork(): SeededRandom;
}

/** Mulberry32: 32 bits of state suffice for one simulated minute. */
export function createSeededRandom(seed: number): SeededRandom {
  let state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) >>> 0;
  const word = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  const float = () => word() / 4_294_967_296;
  return {
    float,
    bytes(n) {
      const bytes = new Uint8Array(n);
      for (let at = 0; at < n; at += 4) {
        const four = word();
        for (let i = 0; i < 4 && at + i < n; i++) bytes[at + i] = four >>> (8 * i);
      }
      return bytes;
    },
    int: (least, most) => least + Math.floor(float() * (most - least + 1)),
    chance: (probability) => float() < probability,
    pick: (from) => from[Math.floor(float() * from.length)]!,
    fork: () => createSeededRandom(word()),
  };
}
