import type { InfiniteData } from '@tanstack/react-query';
import type { Batch, BatchFilters, BatchPage } from '../../api/batches.ts';

type Pages = InfiniteData<BatchPage>;

/** True for a batch that belongs to the list as it is now. What never changes of it was matched by the server. */
export function isListed({ status, waiting, at_risk: isAtRisk }: Batch, filters: BatchFilters): boolean {
  if (filters.status !== undefined && status !== filters.status) return false;
  if (filters.at_risk !== undefined && isAtRisk !== filters.at_risk) return false;
  if (filters.waiting === undefined) return true;
  return filters.waiting === 'any' ? waiting !== null : waiting?.reason === filters.waiting;
}

const none: ReadonlySet<string> = new Set();

/**
 * The list with changed batches: rows in place, new ones where they belong, without those that no longer match or are deleted.
 * Pages and rows that do not change stay the same objects.
 */
export function withChanges(
  pages: Pages,
  changed: readonly Batch[],
  filters: BatchFilters,
  deleted = none,
): Pages {
  const byId = new Map(changed.map((batch) => [batch.id, batch]));
  const next = pages.pages.map((page) => {
    if (!page.data.some(({ id }) => byId.has(id) || deleted.has(id))) return page;
    const data = page.data.flatMap((row) => {
      const batch = byId.get(row.id);
      if (deleted.has(row.id)) return [];
      if (!batch) return [row];
      byId.delete(row.id);
      return isListed(batch, filters) ? [batch] : [];
    });
    return { ...page, data };
  });
  for (const batch of byId.values()) if (isListed(batch, filters)) insert(next, batch);
  return { ...pages, pages: next };
}

/** Newest first. A batch older than the last page comes with a later page. */
function insert(pages: BatchPage[], batch: Batch): void {
  const at = pages.findIndex(({ data }) => data.some(({ id }) => id < batch.id));
  const index = at < 0 ? pages.length - 1 : at;
  const page = pages[index];
  if (!page || (at < 0 && page.has_more)) return;
  const row = page.data.findIndex(({ id }) => id < batch.id);
  pages[index] = { ...page, data: page.data.toSpliced(row < 0 ? page.data.length : row, 0, batch) };
}
