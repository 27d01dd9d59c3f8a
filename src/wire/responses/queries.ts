import { invalid } from '../../core/errors.ts';
import { quoted } from '../json/parse.ts';
import { choiceParam, limitParam, textParam } from '../list.ts';
import type { Query } from '../list.ts';

/** What `GET /v1/responses/{id}/input_items` may ask for. */
export interface InputItemsParams {
  limit: number;
  order: 'asc' | 'desc';
  /** An id of the list; items bring ids of their own, so its form tells nothing. */
  after?: string;
}

export const inputItemsLimits = { most: 100, otherwise: 20 } as const;

/** @throws ApiError `validation_error` */
export function parseInputItemsQuery(query: Query): InputItemsParams {
  const after = textParam(query, 'after');
  return {
    limit: limitParam(query, inputItemsLimits),
    order: choiceParam(query, 'order', ['asc', 'desc']) ?? 'desc',
    ...(after !== undefined && { after }),
  };
}

/** What `GET /v1/responses/{id}` may ask for: the body, or its events behind a number. */
export interface RetrieveParams {
  stream: boolean;
  /** -1 for all events. */
  startingAfter: number;
}

/** @throws ApiError `validation_error` */
export function parseRetrieveQuery(query: Query): RetrieveParams {
  const text = textParam(query, 'starting_after');
  if (text !== undefined && !/^\d{1,9}$/.test(text))
    throw invalid('starting_after', `expected the sequence_number of an event, got ${quoted(text)}`);
  return {
    stream: choiceParam(query, 'stream', ['true', 'false']) === 'true',
    startingAfter: text === undefined ? -1 : Number(text),
  };
}
