import { useInfiniteQuery } from '@tanstack/react-query';
import { useEffect, useMemo } from 'react';
import { isUsable } from './key-state.ts';
import { type Key, keysQuery } from './queries.ts';
import type { KeysSearch } from './search.ts';

/** Matching keys below which further pages are looked through. */
const minShown = 50;

/** Keys that match the filters, as far as they were loaded. @param now epoch milliseconds */
export function useKeyList(search: KeysSearch, now: number) {
  const query = useInfiniteQuery(keysQuery(search.org));
  const { data, hasNextPage, isFetching, fetchNextPage } = query;
  const all = useMemo(() => data?.pages.flatMap((page) => page.data) ?? [], [data]);
  const usable = useMemo(() => all.filter((key) => isUsable(key, now)), [all, now]);
  const shown = useMemo(
    () => matching(search.keys === 'all' ? all : usable, search.q),
    [all, usable, search.keys, search.q],
  );
  // The filters of the screen look at one page after another, until enough is found.
  const looksFurther = hasNextPage && !isFetching && shown.length < minShown;
  useEffect(() => {
    if (looksFurther) void fetchNextPage();
  }, [looksFurther, fetchNextPage]);
  return {
    query,
    all,
    usable,
    shown,
    /** True once all keys are loaded. */
    isWhole: data !== undefined && !hasNextPage,
    loadMore: () => {
      if (hasNextPage && !isFetching) void fetchNextPage();
    },
  };
}

export function matching(keys: readonly Key[], q = ''): readonly Key[] {
  const text = q.trim().toLowerCase();
  if (text === '') return keys;
  return keys.filter((key) =>
    [key.name, key.id, key.prefix, key.org ?? ''].some((each) => each.toLowerCase().includes(text)),
  );
}
