/**
 * Page of a list in slices, in order, each read when its reader asks for it: a long page blocks neither the database nor the event
 * loop. Returns true if more items follow the page.
 */
export type PageSlices<T> = AsyncGenerator<readonly T[], boolean>;

/** Reads all slices. */
export async function wholePage<T>(slices: PageSlices<T>): Promise<{ items: T[]; hasMore: boolean }> {
  const items: T[] = [];
  for (;;) {
    const { done, value } = await slices.next();
    if (done) return { items, hasMore: value };
    items.push(...value);
  }
}
