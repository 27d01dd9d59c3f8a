import { omitNullish } from '../../base/fields.ts';
import { nearestWord } from '../../base/nearest-word.ts';
import { invalid } from '../../core/errors.ts';
import { quoted } from '../json/parse.ts';
import { faultsError } from '../schema/validate.ts';

/** Parameters of a query string as the server parses them; a repeated one is an array. */
export type Query = Record<string, unknown>;

/** Parameters that clients of Azure, and of Anthropic's beta APIs, send with every call. */
const ignoredParams: readonly string[] = ['api-version', 'beta'];

/** @throws ApiError `validation_error` with every parameter that is not one of `names` */
export function refuseUnknownParams(query: Query, names: readonly string[]): void {
  const unknown = Object.keys(query).filter((name) => !names.includes(name) && !ignoredParams.includes(name));
  if (unknown.length === 0) return;
  const message = (name: string) => {
    const meant = names.find((known) => name.startsWith(known)) ?? nearestWord(name, names);
    return `unknown parameter${meant === undefined ? '' : `, did you mean ${meant}?`}; ${names.length > 0 ? `known are ${names.join(', ')}` : 'none are known here'}`;
  };
  throw faultsError(
    unknown.map((name) => ({ param: name, code: 'validation_error', message: message(name) })),
  );
}

/** The value of a parameter; undefined if it is absent or empty. @throws ApiError `validation_error` */
export function textParam(query: Query, name: string): string | undefined {
  const value = query[name];
  if (value === undefined || value === '') return undefined;
  if (typeof value !== 'string') throw invalid(name, 'given more than once');
  // Postgres cannot store one in a text.
  if (value.includes('\0')) throw invalid(name, 'has a NUL character');
  return value;
}

/** Page size of a list: the maximum, and the default. */
export interface PageLimits {
  max: number;
  default: number;
}

/** @throws ApiError `validation_error` for anything but digits within the limits */
function limitParam(query: Query, limits: PageLimits): number {
  const text = query['limit'] === '' ? '' : textParam(query, 'limit');
  if (text === undefined) return limits.default;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > limits.max)
    throw invalid('limit', `expected a whole number from 1 to ${limits.max}, got ${quoted(text)}`);
  return value;
}

/** @throws ApiError `validation_error` for another value */
export function choiceParam<T extends string>(
  query: Query,
  name: string,
  values: readonly T[],
): T | undefined {
  const text = textParam(query, name);
  if (text === undefined) return undefined;
  const value = values.find((known) => known === text);
  if (value === undefined)
    throw invalid(
      name,
      `expected one of ${values.map((known) => `"${known}"`).join(', ')}, got ${quoted(text)}`,
    );
  return value;
}

type IsCursor = (id: string) => boolean;
const anyId: IsCursor = () => true;

/** A cursor. An unknown id of the right form still pages, because ids sort by time. */
function cursorParam(query: Query, isCursor: IsCursor, name = 'after'): string | undefined {
  const text = textParam(query, name);
  if (text === undefined || isCursor(text)) return text;
  throw invalid(name, `${quoted(text)} is not an id of this list`);
}

/** @throws ApiError `validation_error` */
export function pageParams(
  query: Query,
  limits: PageLimits,
  isCursor = anyId,
): { limit: number; after?: string } {
  return { limit: limitParam(query, limits), ...omitNullish({ after: cursorParam(query, isCursor) }) };
}

/** As `pageParams`, but the whole list if the query has no `limit`. @throws ApiError `validation_error` */
export function optionalPageParams(
  query: Query,
  limits: Pick<PageLimits, 'max'>,
  isCursor = anyId,
): { limit: number | undefined; after?: string } {
  const { limit, ...page } = pageParams(query, { ...limits, default: Infinity }, isCursor);
  return { ...page, limit: limit === Infinity ? undefined : limit };
}

/** Page parameters of the messages API: `after_id` or `before_id`. @throws ApiError `validation_error` */
export function cursorPageParams(
  query: Query,
  limits: PageLimits,
  isCursor = anyId,
): { limit: number; after?: string; before?: string } {
  const before = cursorParam(query, isCursor, 'before_id');
  const after = cursorParam(query, isCursor, 'after_id');
  if (after !== undefined && before !== undefined)
    throw invalid('before_id', 'cannot be combined with after_id');
  return { limit: limitParam(query, limits), ...omitNullish({ after, before }) };
}

/** Page parameters of lists that have an order: items, messages, chat completions and files. */
export interface ItemsQuery {
  limit: number;
  order: 'asc' | 'desc';
  after?: string;
}

export const itemsLimits: PageLimits = { max: 100, default: 20 };

/**
 * @param order if the query names none
 * @param isCursor absent for items, whose ids may be the client's own
 * @throws ApiError `validation_error`
 */
export function parseItemsQuery(
  query: Query,
  order: ItemsQuery['order'],
  isCursor?: IsCursor,
  limits = itemsLimits,
): ItemsQuery {
  const page = pageParams(query, limits, isCursor);
  return { ...page, order: choiceParam(query, 'order', ['asc', 'desc']) ?? order };
}
