import { present } from '../../base/fields.ts';
import { nearestWord } from '../../base/nearest-word.ts';
import { invalid } from '../../core/errors.ts';
import { quoted } from '../json/parse.ts';
import { faultsError } from './validate.ts';

/** Lists (api.md, section 3). SDKs stop paging without `has_more`, so it is never left out. */
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

/** A list whose items are JSON text already. */
export function listJson(items: { id: string; json: string }[], hasMore: boolean): string {
  const { data: _, ...envelope } = listBody(items, hasMore);
  const text = JSON.stringify(envelope);
  return `${text.slice(0, -1)},"data":[${items.map((item) => item.json).join(',')}]}`;
}

/** The parameters of a query string as a server hands them over; a repeated one is an array. */
export type Query = Record<string, unknown>;

/** Sent with every call by clients of Azure, and by those of Anthropic for what is a beta there. */
const passedOver: readonly string[] = ['api-version', 'beta'];

/** @throws ApiError `validation_error` with every parameter that is not one of `names` */
export function refuseUnknownParams(query: Query, names: readonly string[]): void {
  const unknown = Object.keys(query).filter((name) => !names.includes(name) && !passedOver.includes(name));
  if (unknown.length === 0) return;
  const message = (name: string) => {
    const meant = names.find((known) => name.startsWith(known)) ?? nearestWord(name, names);
    return `unknown parameter${meant === undefined ? '' : `, did you mean ${meant}?`}; ${names.length > 0 ? `known are ${names.join(', ')}` : 'none are known here'}`;
  };
  throw faultsError(
    unknown.map((name) => ({ param: name, code: 'validation_error', message: message(name) })),
  );
}

/** The one value of a parameter; absent and empty are the same. */
export function textParam(query: Query, name: string): string | undefined {
  const value = query[name];
  if (value === undefined || value === '') return undefined;
  if (typeof value !== 'string') throw invalid(name, 'given more than once');
  // Postgres takes none in a text.
  if (value.includes('\0')) throw invalid(name, 'has a NUL character');
  return value;
}

/** @throws ApiError `validation_error` for anything but digits within the bounds */
export function limitParam(query: Query, bounds: PageLimits): number {
  const text = query['limit'] === '' ? '' : textParam(query, 'limit');
  if (text === undefined) return bounds.otherwise;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > bounds.most)
    throw invalid('limit', `expected a whole number from 1 to ${bounds.most}, got ${quoted(text)}`);
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

/** A cursor. One that names nothing still pages, because ids sort by time; one of another shape is refused. */
function cursorParam(query: Query, isCursor: IsCursor, name = 'after'): string | undefined {
  const text = textParam(query, name);
  if (text === undefined || isCursor(text)) return text;
  throw invalid(name, `${quoted(text)} is not an id of this list`);
}

/** How many things a page of a list has at most, and unless it is asked for otherwise. */
export interface PageLimits {
  most: number;
  otherwise: number;
}

/** @throws ApiError `validation_error` */
export function pageParams(
  query: Query,
  limits: PageLimits,
  isCursor = anyId,
): { limit: number; after?: string } {
  const after = cursorParam(query, isCursor);
  return { limit: limitParam(query, limits), ...present({ after }) };
}

/** As clients of messages ask for one: behind a thing of the list, or before it. @throws ApiError `validation_error` */
export function pageEitherWay(
  query: Query,
  limits: PageLimits,
  isCursor = anyId,
): { limit: number; after?: string; before?: string } {
  const before = cursorParam(query, isCursor, 'before_id');
  const after = cursorParam(query, isCursor, 'after_id');
  if (after !== undefined && before !== undefined)
    throw invalid('before_id', 'cannot be asked for together with after_id');
  return { limit: limitParam(query, limits), ...present({ after, before }) };
}
