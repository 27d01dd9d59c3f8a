import { omitNullish } from '../../base/fields.ts';
import { isId } from '../../base/ids.ts';
import { batchStatuses } from '../../core/batch.ts';
import { searchLimits, searchWords } from '../../core/batch-search.ts';
import { invalid } from '../../core/errors.ts';
import { waitingReasons } from '../../core/waiting.ts';
import { parseInstant } from '../shared/instant.ts';
import { quoted } from '../json/parse.ts';
import { type Query, choiceParam, pageParams, textParam } from '../shared/query-params.ts';

export const batchListLimits = { max: 100, default: 20 } as const;

/** Reads the query of `GET /v1/batches`. @throws ApiError `validation_error` */
export function parseBatchListQuery(query: Query) {
  const order = choiceParam(query, 'order', ['asc', 'desc']);
  return {
    ...pageParams(query, batchListLimits, (id) => isId('batch_', id)),
    ...omitNullish({ order }),
    ...parseBatchFilters(query),
  };
}

/** Reads the filters of lists and streams of batches. @throws ApiError `validation_error` */
export function parseBatchFilters(query: Query) {
  const status = choiceParam(query, 'status', batchStatuses);
  const createdAfter = instantParam(query, 'created_after');
  const createdBefore = instantParam(query, 'created_before');
  const model = textParam(query, 'model');
  const waiting = choiceParam(query, 'waiting', ['any', ...waitingReasons]);
  const atRisk = choiceParam(query, 'at_risk', ['true', 'false']);
  const words = wordsParam(query);
  return omitNullish({
    status,
    createdAfter,
    createdBefore,
    model,
    waiting,
    atRisk: atRisk && atRisk === 'true',
    words,
  });
}

/** Reads the query of `GET /v1/admin/batches`. @throws ApiError `validation_error` */
export function parseAllBatchesQuery(query: Query) {
  return { ...parseBatchListQuery(query), ...omitNullish({ org: textParam(query, 'org') }) };
}

/** Words that a search is for. */
function wordsParam(query: Query): string[] | undefined {
  const text = textParam(query, 'q');
  if (text === undefined) return undefined;
  if (text.length > searchLimits.length)
    throw invalid('q', `expected at most ${searchLimits.length} characters, got ${text.length}`);
  const words = searchWords(text);
  if (words.length > searchLimits.words)
    throw invalid('q', `expected at most ${searchLimits.words} words, got ${words.length}`);
  return words;
}

/** Reads `after` of `/output` and `/errors`: the number of lines that the client already has. */
export function parseResultsQuery(query: Query): { after: number } {
  const text = textParam(query, 'after');
  if (text === undefined) return { after: 0 };
  if (!/^\d{1,9}$/.test(text)) throw invalid('after', `expected a line number, got ${quoted(text)}`);
  return { after: Number(text) };
}

/** Epoch milliseconds. */
function instantParam(query: Query, name: string): number | undefined {
  const text = textParam(query, name);
  if (text === undefined) return undefined;
  const ms = parseInstant(text);
  if (ms === undefined)
    throw invalid(name, `expected a time such as 2026-11-21T09:30:00Z or Unix seconds, got ${quoted(text)}`);
  return ms;
}
