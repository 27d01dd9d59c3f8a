import type { Page } from '../../client/resources.ts';

/** The first `count` things of a list, over as many pages as that takes. */
export async function take<T extends { id: string }>(
  count: number,
  pageSize: number,
  fetchPage: (query: { limit: number; after?: string }) => Promise<Page<T>>,
): Promise<T[]> {
  const found: T[] = [];
  let after: string | undefined;
  while (found.length < count) {
    const limit = Math.min(pageSize, count - found.length);
    const page = await fetchPage(after === undefined ? { limit } : { limit, after });
    found.push(...page.data);
    after = page.data.at(-1)?.id;
    if (!page.has_more || after === undefined) break;
  }
  return found;
}
