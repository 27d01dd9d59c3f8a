import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import { type Answer, api, bodyOf, type Item } from '../../api/client.ts';
import type { LinesSearch } from './search.ts';

type OwnLine = Item<'/v1/batches/{batch_id}/lines'>;
/** Line with its texts. */
export type DetailWithTexts = Answer<'/v1/batches/{batch_id}/lines/{line}'>;
type OperatorLine = Item<'/v1/admin/batches/{batch_id}/lines'>;

/** Line of a batch. Operators see the server, and neither texts nor messages. */
export type Line = OwnLine | OperatorLine;
export type LineDetail = DetailWithTexts | OperatorLine;

/** True for a line with its texts. */
export function hasTexts(line: LineDetail): line is DetailWithTexts {
  return 'input' in line;
}

/** Batch whose lines are read. */
export interface LinesOf {
  batchId: string;
  /** True for an operator, who reads the lines of any org without their texts. */
  isOperator: boolean;
}

/** Lines of one page. */
export const pageLines = 100;
/** A running batch is read again after this time, in milliseconds. */
const refetchMs = 3_000;

/** Page of all lines: pages can be read in any order. */
export const pageQuery = (of: LinesOf, page: number, isEnded: boolean) =>
  queryOptions({
    queryKey: ['lines', of, isEnded, page],
    queryFn: ({ signal }) => readLines(of, { limit: pageLines, after: page * pageLines }, signal),
    staleTime: isEnded ? Infinity : 1_000,
    refetchInterval: isEnded ? false : refetchMs,
  });

interface Page {
  data: Line[];
  next_after: number | null;
}

interface LinesQuery extends Filters {
  limit?: number;
  after?: number;
}

/** Operators have no search in texts. */
function readLines(
  { batchId, isOperator }: LinesOf,
  { q, ...query }: LinesQuery,
  signal: AbortSignal,
): Promise<Page> {
  const path = { batch_id: batchId };
  return isOperator
    ? bodyOf(api.GET('/v1/admin/batches/{batch_id}/lines', { params: { path, query }, signal }))
    : bodyOf(api.GET('/v1/batches/{batch_id}/lines', { params: { path, query: { ...query, q } }, signal }));
}

type Filters = Pick<LinesSearch, 'state' | 'code' | 'q' | 'sample' | 'seed'>;

/** Lines that match, in their order; a search reads a part of the lines with each page. */
export const matchesQuery = (of: LinesOf, { state, code, q, sample, seed }: Filters) =>
  infiniteQueryOptions({
    queryKey: ['matching lines', of, { state, code, q, sample, seed }],
    queryFn: ({ signal, pageParam }) => {
      const part = sample === undefined ? { limit: pageLines, after: pageParam } : { sample, seed };
      return readLines(of, { state, code, q, ...part }, signal);
    },
    initialPageParam: 0,
    getNextPageParam: (page) => page.next_after,
    staleTime: 30_000,
  });

export const lineQuery = ({ batchId, isOperator }: LinesOf, line: number) =>
  queryOptions({
    queryKey: ['line', batchId, isOperator, line],
    queryFn({ signal }): Promise<LineDetail> {
      const params = { path: { batch_id: batchId, line: String(line) } };
      return isOperator
        ? bodyOf(api.GET('/v1/admin/batches/{batch_id}/lines/{line}', { params, signal }))
        : bodyOf(api.GET('/v1/batches/{batch_id}/lines/{line}', { params, signal }));
    },
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => (state.data && state.data.status_code !== null ? false : refetchMs),
  });
