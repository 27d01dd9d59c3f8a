import { useInfiniteQuery, useQueries, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { type Line, type LinesOf, matchesQuery, pageLines, pageQuery } from './queries.ts';
import type { LinesSearch } from './search.ts';

/** Rows of the list: those that are not loaded yet have only a number. */
export interface LineRows {
  count: number;
  at: (index: number) => Line | undefined;
  /** Number of the line in a row; undefined where only its answer tells it. */
  numberAt: (index: number) => number | undefined;
  /** Called with the first and last row in view, as soon as they are known. */
  onRange: (first: number, last: number) => void;
  error: Error | null;
  retry: () => void;
  /** True while the first rows load. */
  isLoading: boolean;
  /** Line up to which a search has looked; null once it has looked at all, and without a search. */
  searchedTo: number | null;
}

/** All lines. The pages in view are loaded first, the others one after the other, the nearest first. */
export function useAllLines(of: LinesOf, total: number, isEnded: boolean, isOn: boolean): LineRows {
  const cache = useQueryClient();
  const [[first, last], setPages] = useState<[number, number]>([0, 0]);
  const pages = Array.from({ length: isOn ? last - first + 1 : 0 }, (_, at) => first + at);
  const queries = useQueries({ queries: pages.map((page) => pageQuery(of, page, isEnded)) });
  const isShown = isOn && queries.every(({ isSuccess }) => isSuccess);
  useLoadAhead(of, { total, isEnded, isShown, first, last });
  const failed = queries.find(({ error, data }) => error !== null && !data);
  const show = (start: number, end: number) => {
    const next: [number, number] = [pageOf(start), pageOf(end)];
    if (!isOn || (next[0] === first && next[1] === last)) return;
    // Before React renders, which the requests need not wait for.
    for (const page of pages)
      if (page < next[0] || page > next[1])
        void cache.cancelQueries({ queryKey: pageQuery(of, page, isEnded).queryKey });
    for (let page = next[0]; page <= next[1]; page++) void cache.prefetchQuery(pageQuery(of, page, isEnded));
    setPages(next);
  };
  return {
    count: total,
    at: (index) =>
      cache.getQueryData(pageQuery(of, pageOf(index), isEnded).queryKey)?.data[index % pageLines],
    numberAt: (index) => index + 1,
    onRange: show,
    error: failed?.error ?? null,
    retry: () => void failed?.refetch(),
    isLoading: false,
    searchedTo: null,
  };
}

const pageOf = (index: number) => Math.floor(index / pageLines);

/** Pages of an ended batch that are loaded ahead at most, so that a jump to any line shows it at once. */
const maxPagesAhead = 200;
/** Pages before and after those in view that are loaded ahead otherwise, so that scrolling meets no gap. */
const pagesAround = 2;

interface View {
  total: number;
  isEnded: boolean;
  /** True once the pages in view are loaded. */
  isShown: boolean;
  /** Pages in view. */
  first: number;
  last: number;
}

function useLoadAhead({ batchId, isOperator }: LinesOf, view: View): void {
  const cache = useQueryClient();
  const { total, isEnded, isShown, first, last } = view;
  useEffect(() => {
    if (!isShown) return undefined;
    const end = Math.max(0, pageOf(total - 1));
    const around = isEnded && end < maxPagesAhead ? end : pagesAround;
    const stop = new AbortController();
    const load = async () => {
      for (let distance = 1; distance <= around; distance++)
        for (const page of [last + distance, first - distance])
          if (page >= 0 && page <= end && !stop.signal.aborted)
            await cache.prefetchQuery(pageQuery({ batchId, isOperator }, page, isEnded));
    };
    void load();
    return () => stop.abort();
  }, [cache, batchId, isOperator, total, isEnded, isShown, first, last]);
}

/** Lines that match the filters, as far as they were looked for. */
export function useMatchingLines(of: LinesOf, search: LinesSearch, isOn: boolean): LineRows {
  const query = useInfiniteQuery({ ...matchesQuery(of, search), enabled: isOn });
  const rows = query.data?.pages.flatMap((page) => page.data) ?? [];
  const last = query.data?.pages.at(-1);
  const next = () => {
    if (query.hasNextPage && !query.isFetching) void query.fetchNextPage();
  };
  return {
    count: rows.length,
    at: (index) => rows[index],
    numberAt: (index) => rows[index]?.line,
    onRange: (_, end) => end >= rows.length - pageLines / 2 && next(),
    error: query.error,
    retry: () => void (query.data ? query.fetchNextPage() : query.refetch()),
    isLoading: query.isPending,
    searchedTo: last?.next_after ?? null,
  };
}
