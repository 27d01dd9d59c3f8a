/** Repeatable randomness for a test: the same seed, the same draws (mulberry32). */
export interface Seeded {
  /** A number in [0, 1). */
  float(): number;
  /** A whole number from `least` to `most`. */
  whole(least: number, most: number): number;
}

export function seeded(seed: number): Seeded {
  let state = seed >>> 0;
  const float = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return { float, whole: (least, most) => least + Math.floor(float() * (most - least + 1)) };
}
