/** Cuts items into groups of at most `size`, in order. */
export function* groupsOf<T>(items: readonly T[], size: number): Generator<T[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size);
}
