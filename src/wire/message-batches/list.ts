import { isId } from '../../base/ids.ts';
import { cursorPageParams, type Query } from '../shared/query-params.ts';

export const messageBatchListLimits = { max: 1_000, default: 20 } as const;

/** Pages are smaller than the limit that official clients may ask for; `has_more` makes them continue. */
const maxPage = 100;

/** @throws ApiError `validation_error` */
export function parseMessageBatchListQuery(query: Query): ReturnType<typeof cursorPageParams> {
  const page = cursorPageParams(query, messageBatchListLimits, (id) => isId('batch_', id));
  return { ...page, limit: Math.min(maxPage, page.limit) };
}
