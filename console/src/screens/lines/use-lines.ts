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
  /** Called with the rows in view. */
  onRange: (first: number, last: number) => void;
  error: Error | null;
  retry: () => void;
  /** True while the first rows load. */
  isLoading: boolean;
  /** Line up to which a search has looked; null once it has looked at all, and without a search. */
  searchedTo: number | null;
}

/** Pages before and after those in view, so that scrolling meets no gap. */
const pagesAround = 2;

/** All lines: the pages around the rows in view. */
export function useAllLines(of: LinesOf, total: number, isEnded: boolean, isOn: boolean): LineRows {
  const [[first, last], setRange] = useState<[number, number]>([0, 0]);
  const lastPage = Math.max(0, Math.ceil(total / pageLines) - 1);
  const from = Math.max(0, Math.floor(first / pageLines) - pagesAround);
  const to = Math.min(lastPage, Math.floor(last / pageLines) + pagesAround);
  const middle = Math.floor((first + last) / 2 / pageLines);
  const pages = Array.from({ length: isOn ? to - from + 1 : 0 }, (_, at) => from + at).toSorted(
    (a, b) => Math.abs(a - middle) - Math.abs(b - middle),
  );
  // The pages in view come first: the others would take the server from them.
  const cache = useQueryClient();
  const isInView = (page: number) =>
    page >= Math.floor(first / pageLines) && page <= Math.floor(last / pageLines);
  const isShown = pages
    .filter(isInView)
    .every((page) => cache.getQueryState(pageQuery(of, page, isEnded).queryKey)?.status === 'success');
  const queries = useQueries({
    queries: pages.map((page) => ({
      ...pageQuery(of, page, isEnded),
      enabled: isShown || isInView(page),
    })),
  });
  useLoadAhead(of, lastPage, isEnded && isOn && queries.every(({ isSuccess }) => isSuccess));
  const byPage = new Map(pages.map((page, at) => [page, queries[at]]));
  const failed = queries.find(({ error, data }) => error !== null && !data);
  return {
    count: total,
    at: (index) => byPage.get(Math.floor(index / pageLines))?.data?.data[index % pageLines],
    numberAt: (index) => index + 1,
    onRange: (start, end) => {
      if (
        Math.floor(start / pageLines) !== Math.floor(first / pageLines) ||
        Math.floor(end / pageLines) !== Math.floor(last / pageLines)
      )
        setRange([start, end]);
    },
    error: failed?.error ?? null,
    retry: () => void failed?.refetch(),
    isLoading: false,
    searchedTo: null,
  };
}

/** Pages that are loaded ahead at most. */
const maxPagesAhead = 200;

/** Loads the pages of an ended batch one after the other, so that a jump to any line shows it at once. */
function useLoadAhead({ batchId, isOperator }: LinesOf, lastPage: number, isReady: boolean): void {
  const queries = useQueryClient();
  useEffect(() => {
    if (!isReady || lastPage >= maxPagesAhead) return undefined;
    const stop = new AbortController();
    const load = async () => {
      for (let page = 0; page <= lastPage && !stop.signal.aborted; page++)
        await queries.prefetchQuery(pageQuery({ batchId, isOperator }, page, true));
    };
    void load();
    return () => stop.abort();
  }, [queries, batchId, isOperator, lastPage, isReady]);
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
