/** Maximum bytes of a page. A larger entry is a page of its own. */
export const pageBytes = 4 * 2 ** 20;

/**
 * Cuts a page.
 * @param sizes of up to one entry more than the limit, in order
 * @returns number of entries, and the bytes to read for them
 */
export function cutPage(sizes: readonly { bytes: number }[], limit: number) {
  let [count, bytes] = [0, 0];
  for (const { bytes: size } of sizes.slice(0, limit)) {
    if (count > 0 && bytes + size > pageBytes) break;
    count++;
    bytes += size;
  }
  return { count, bytes, hasMore: sizes.length > count };
}
