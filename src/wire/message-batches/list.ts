import { isId } from '../../base/ids.ts';
import { cursorPageParams, type Query } from '../shared/query-params.ts';

export const messageBatchListLimits = { max: 1_000, default: 20 } as const;

/** What official clients may ask for is more than is read at once: a page may be smaller, and tells that more follow. */
const mostAtOnce = 100;

/** @throws ApiError `validation_error` */
export function parseMessageBatchListQuery(query: Query): ReturnType<typeof cursorPageParams> {
  const page = cursorPageParams(query, messageBatchListLimits, (id) => isId('batch_', id));
  return { ...page, limit: Math.min(mostAtOnce, page.limit) };
}
