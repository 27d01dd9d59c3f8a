import { invalid } from '../../core/errors.ts';
import { quoted } from '../json/parse.ts';
import type { ItemsQuery } from './query-params.ts';

/** Body of a list. `has_more` is always present, because SDKs stop paging without it. */
export interface ListBody<T> {
  object: 'list';
  data: T[];
  first_id: string | null;
  last_id: string | null;
  has_more: boolean;
}

export function listBody<T extends { id: string }>(data: T[], hasMore: boolean): ListBody<T> {
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: hasMore,
  };
}

/** List body of a page that was read with one item more than `limit`, which shows that another page follows. */
export function pageBody<T extends { id: string }>(items: T[], limit = Infinity): ListBody<T> {
  return listBody(items.slice(0, limit), items.length > limit);
}

/** A list body of items that are JSON text already. */
export function listJson(items: { id: string; json: string }[], hasMore: boolean): string {
  const { data: _, ...envelope } = listBody(items, hasMore);
  const text = JSON.stringify(envelope);
  return `${text.slice(0, -1)},"data":[${items.map((item) => item.json).join(',')}]}`;
}

/** One page of a list that is in memory, oldest first. @throws ApiError `validation_error` if `after` is not in it */
export function pageOfItems<T extends { id: string }>(
  all: readonly T[],
  { limit, order, after }: ItemsQuery,
): { items: T[]; hasMore: boolean } {
  const items = order === 'asc' ? all : all.toReversed();
  const at = after === undefined ? -1 : items.findIndex(({ id }) => id === after);
  if (after !== undefined && at < 0) throw invalid('after', `${quoted(after)} is not an id of this list`);
  return { items: items.slice(at + 1, at + 1 + limit), hasMore: items.length > at + 1 + limit };
}
