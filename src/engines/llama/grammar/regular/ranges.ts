import type { CharRange } from '../grammar.ts';

export const lastCodePoint = 0x10_ffff;

/** Sorts and joins ranges, so that none overlap or touch. */
export function normalizeRanges(ranges: readonly CharRange[]): CharRange[] {
  const joined: [number, number][] = [];
  for (const [low, high] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const last = joined.at(-1);
    if (last && low <= last[1] + 1) last[1] = Math.max(last[1], high);
    else if (low <= high) joined.push([low, high]);
  }
  return joined;
}

export function intersection(a: readonly CharRange[], b: readonly CharRange[]): CharRange[] {
  return a.flatMap(([low, high]) =>
    b
      .map(([from, to]): CharRange => [Math.max(low, from), Math.min(high, to)])
      .filter(([from, to]) => from <= to),
  );
}
