import { isId } from '../../base/ids.ts';
import { pageEitherWay, type Query } from '../schema/list.ts';

export const messageBatchListLimits = { most: 1_000, otherwise: 20 } as const;

/** What official clients may ask for is more than is read at once: a page may be smaller, and tells that more follow. */
const mostAtOnce = 100;

/** @throws ApiError `validation_error` */
export function parseMessageBatchListQuery(query: Query): ReturnType<typeof pageEitherWay> {
  const page = pageEitherWay(query, messageBatchListLimits, (id) => isId('batch_', id));
  return { ...page, limit: Math.min(mostAtOnce, page.limit) };
}
