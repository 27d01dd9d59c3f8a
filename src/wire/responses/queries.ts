import { invalid } from '../../core/errors.ts';
import { quoted } from '../json/parse.ts';
import { type Query, choiceParam, textParam } from '../shared/query-params.ts';

/**
 * What `GET /v1/responses/{id}` may ask for: the body, or its events behind a number, -1 for all of them.
 * @throws ApiError `validation_error`
 */
export function parseRetrieveQuery(query: Query) {
  const text = textParam(query, 'starting_after');
  if (text !== undefined && !/^\d{1,9}$/.test(text))
    throw invalid('starting_after', `expected the sequence_number of an event, got ${quoted(text)}`);
  return {
    stream: choiceParam(query, 'stream', ['true', 'false']) === 'true',
    startingAfter: text === undefined ? -1 : Number(text),
  };
}
