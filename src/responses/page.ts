/** Bytes of the texts of one page. An entry that has more alone is a page of its own. */
export const pageBytes = 4 * 2 ** 20;

/**
 * How many entries a page has, of those whose sizes are given: up to one more than were asked for, in their order. `bytes`
 * are all that is to be read for it.
 */
export function cutPage(
  sizes: readonly { bytes: number }[],
  limit: number,
): { count: number; bytes: number; hasMore: boolean } {
  let [count, bytes] = [0, 0];
  for (const { bytes: size } of sizes.slice(0, limit)) {
    if (count > 0 && bytes + size > pageBytes) break;
    count++;
    bytes += size;
  }
  return { count, bytes, hasMore: sizes.length > count };
}
