import { isId } from '../../base/ids.ts';
import { invalid } from '../../core/errors.ts';
import { cursorParam, limitParam, type Query } from '../list.ts';

export interface MessageBatchListParams {
  limit: number;
  after?: string;
  before?: string;
}

export const messageBatchListLimits = { most: 1_000, otherwise: 20 } as const;

/** What official clients may ask for is more than is read at once: a page may be smaller, and tells that more follow. */
const mostAtOnce = 100;

/** @throws ApiError `validation_error` */
export function parseMessageBatchListQuery(query: Query): MessageBatchListParams {
  const isBatch = (id: string) => isId('batch_', id);
  const after = cursorParam(query, isBatch, 'after_id');
  const before = cursorParam(query, isBatch, 'before_id');
  if (after !== undefined && before !== undefined)
    throw invalid('before_id', 'cannot be asked for together with after_id');
  return {
    limit: Math.min(mostAtOnce, limitParam(query, messageBatchListLimits)),
    ...(after !== undefined && { after }),
    ...(before !== undefined && { before }),
  };
}
