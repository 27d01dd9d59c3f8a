import { invalid } from '../../core/errors.ts';
import { quoted } from '../json/parse.ts';
import { choiceParam, type PageLimits, pageParams, type Query } from '../schema/list.ts';

/** What lists of items, of messages, of chat completions and of files may be asked for. */
export interface ItemsQuery {
  limit: number;
  order: 'asc' | 'desc';
  /** An id of the list. */
  after?: string;
}

export const itemsLimits: PageLimits = { most: 100, otherwise: 20 };

/**
 * @param isCursor items may bring ids of their own, whose form tells nothing
 * @throws ApiError `validation_error`
 */
export function parseItemsQuery(
  query: Query,
  order: ItemsQuery['order'],
  isCursor?: (id: string) => boolean,
  limits = itemsLimits,
): ItemsQuery {
  const page = pageParams(query, limits, isCursor);
  return { ...page, order: choiceParam(query, 'order', ['asc', 'desc']) ?? order };
}

/** A page of a list that is at hand, oldest first. @throws ApiError `validation_error` where it has no such id */
export function pageOfItems<T extends { id: string }>(
  all: readonly T[],
  { limit, order, after }: ItemsQuery,
): { items: T[]; hasMore: boolean } {
  const items = order === 'asc' ? all : all.toReversed();
  const at = after === undefined ? -1 : items.findIndex(({ id }) => id === after);
  if (after !== undefined && at < 0) throw invalid('after', `${quoted(after)} is not an id of this list`);
  return { items: items.slice(at + 1, at + 1 + limit), hasMore: items.length > at + 1 + limit };
}
