/** Items that are sorted or merged in one step: some tenths of a millisecond. */
const stepItems = 512;

/** Sorts a copy of a list in steps, as `toSorted` does in one: long lists must not block the event loop. */
export function* sortSteps<T>(
  items: readonly T[],
  compare: (a: T, b: T) => number,
): Generator<undefined, T[]> {
  let runs: T[][] = [];
  for (let at = 0; at < items.length; at += stepItems) {
    if (at > 0) yield;
    runs.push(items.slice(at, at + stepItems).toSorted(compare));
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let n = 0; n < runs.length; n += 2) merged.push(yield* merge(runs[n]!, runs[n + 1] ?? [], compare));
    runs = merged;
  }
  return runs[0] ?? [];
}

function* merge<T>(a: T[], b: T[], compare: (a: T, b: T) => number): Generator<undefined, T[]> {
  const merged: T[] = [];
  for (let [i, j] = [0, 0]; i < a.length || j < b.length;) {
    const isFirst = j === b.length || (i < a.length && compare(a[i]!, b[j]!) <= 0);
    merged.push(isFirst ? a[i++]! : b[j++]!);
    if (merged.length % stepItems === 0) yield;
  }
  return merged;
}
