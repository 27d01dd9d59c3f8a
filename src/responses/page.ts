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

/** Bytes of a slice of a page, which is presented in one turn of the event loop. */
const sliceBytes = 256 * 1024;

/** Slices of the entries of a page, each with its bytes. */
export function* pageSlices<T extends { bytes: number }>(entries: readonly T[]) {
  for (let from = 0; from < entries.length;) {
    let [to, bytes] = [from, 0];
    do bytes += entries[to++]!.bytes;
    while (to < entries.length && bytes + entries[to]!.bytes <= sliceBytes);
    yield { entries: entries.slice(from, to), bytes };
    from = to;
  }
}
