import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import { isFinal } from '../../../../src/core/batch.ts';
import { type Answer, api, bodyOf, type Item } from '../../api/client.ts';
import type { LinesSearch } from './search.ts';

export type Batch = Answer<'/v1/batches/{batch_id}'>;
export type Line = Item<'/v1/batches/{batch_id}/lines'>;
export type LineDetail = Answer<'/v1/batches/{batch_id}/lines/{line}'>;

/** Lines of one page. */
export const pageLines = 200;
/** A running batch is read again after this time, in milliseconds. */
const refetchMs = 3_000;

export const batchQuery = (batchId: string) =>
  queryOptions({
    queryKey: ['batch', batchId],
    queryFn: ({ signal }) =>
      bodyOf(api.GET('/v1/batches/{batch_id}', { params: { path: { batch_id: batchId } }, signal })),
    refetchInterval: ({ state }) => (state.data && isFinal(state.data.status) ? false : refetchMs),
  });

/** Page of all lines: pages can be read in any order. */
export const pageQuery = (batchId: string, page: number, isEnded: boolean) =>
  queryOptions({
    queryKey: ['lines', batchId, isEnded, page],
    queryFn: ({ signal }) =>
      bodyOf(
        api.GET('/v1/batches/{batch_id}/lines', {
          params: { path: { batch_id: batchId }, query: { limit: pageLines, after: page * pageLines } },
          signal,
        }),
      ),
    staleTime: isEnded ? Infinity : 1_000,
    refetchInterval: isEnded ? false : refetchMs,
  });

type Filters = Pick<LinesSearch, 'state' | 'code' | 'q' | 'sample' | 'seed'>;

/** Lines that match, in their order; a search reads a part of the lines with each page. */
export const matchesQuery = (batchId: string, { state, code, q, sample, seed }: Filters) =>
  infiniteQueryOptions({
    queryKey: ['matching lines', batchId, { state, code, q, sample, seed }],
    queryFn: ({ signal, pageParam }) =>
      bodyOf(
        api.GET('/v1/batches/{batch_id}/lines', {
          params: {
            path: { batch_id: batchId },
            query: {
              state,
              code,
              q,
              ...(sample === undefined ? { limit: pageLines, after: pageParam } : { sample, seed }),
            },
          },
          signal,
        }),
      ),
    initialPageParam: 0,
    getNextPageParam: (page) => page.next_after,
    staleTime: 30_000,
  });

export const lineQuery = (batchId: string, line: number) =>
  queryOptions({
    queryKey: ['line', batchId, line],
    queryFn: ({ signal }) =>
      bodyOf(
        api.GET('/v1/batches/{batch_id}/lines/{line}', {
          params: { path: { batch_id: batchId, line: String(line) } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => (state.data && state.data.status_code !== null ? false : refetchMs),
  });
