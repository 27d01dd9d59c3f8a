/**
 * Page of a list in slices, in order, each read when its reader asks for it: a long page blocks neither the database nor the event
 * loop. Returns true if more items follow the page.
 */
export type PageSlices<T> = AsyncGenerator<readonly T[], boolean>;

/** Slices of a page that is in memory. */
export async function* slicesOf<T>(
  items: Pick<readonly T[], 'length' | 'slice'>,
  hasMore: boolean,
  size: number,
): PageSlices<T> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size);
  return hasMore;
}

/** Reads all slices. */
export async function wholePage<T>(slices: PageSlices<T>): Promise<{ items: T[]; hasMore: boolean }> {
  const items: T[] = [];
  for (;;) {
    const { done, value } = await slices.next();
    if (done) return { items, hasMore: value };
    items.push(...value);
  }
}
