import type { CharRange } from '../grammar.ts';

export const lastCodePoint = 0x10_ffff;

/** The same code points in order, without overlaps or neighbours. */
export function tidy(ranges: readonly CharRange[]): CharRange[] {
  const tidied: [number, number][] = [];
  for (const [low, high] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const last = tidied.at(-1);
    if (last && low <= last[1] + 1) last[1] = Math.max(last[1], high);
    else if (low <= high) tidied.push([low, high]);
  }
  return tidied;
}

export function intersection(a: readonly CharRange[], b: readonly CharRange[]): CharRange[] {
  return a.flatMap(([low, high]) =>
    b
      .map(([from, to]): CharRange => [Math.max(low, from), Math.min(high, to)])
      .filter(([from, to]) => from <= to),
  );
}
