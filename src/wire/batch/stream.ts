import { omitNullish } from '../../base/fields.ts';
import { invalid } from '../../core/errors.ts';
import { namedEvent } from '../shared/sse.ts';
import { type Query, textParam } from '../shared/query-params.ts';
import { parseBatchFilters } from './list.ts';

const maxPosition = 100;

/** Reads the query of `GET /v1/batches/events`. @throws ApiError `validation_error` */
export function parseBatchStreamQuery(query: Query) {
  return { filters: parseBatchFilters(query), position: positionParam(query) };
}

/** Reads the query of `GET /v1/admin/batches/events`. @throws ApiError `validation_error` */
export function parseAllBatchesStreamQuery(query: Query) {
  return { ...parseBatchStreamQuery(query), ...omitNullish({ org: textParam(query, 'org') }) };
}

function positionParam(query: Query): string | undefined {
  const text = textParam(query, 'last_event_id');
  if (text !== undefined && text.length > maxPosition)
    throw invalid('last_event_id', `expected the id of an event, got ${text.length} characters`);
  return text;
}

/** Event that begins a stream. @param complete false if changes may have been missed */
export function readyEvent(position: string, complete: boolean): string {
  return withId(position, namedEvent('ready', JSON.stringify({ object: 'batch.stream', complete })));
}

/** Event of one batch. @param json of the batch, in which the metadata may have line breaks between its tokens */
export function changeEvent(position: string, json: string): string {
  return withId(position, namedEvent('batch', json.replaceAll(/[\n\r]/g, ' ')));
}

/** Event of a batch that was deleted. */
export function deletedEvent(position: string, id: string): string {
  return withId(position, namedEvent('deleted', JSON.stringify({ id, object: 'batch', deleted: true })));
}

function withId(position: string, event: string): string {
  return `id: ${position}\n${event}`;
}
