import { ApiError, invalid } from '../../core/errors.ts';
import { flatAndNestedError } from '../errors/error-body.ts';
import type { JsonBody } from '../json/json-body.ts';
import { parseJson, quoted } from '../json/parse.ts';
import { faultsError, type ReportFields } from '../schema/validate.ts';
import { requestedTier } from '../shared/service-tier.ts';
import { checkResponsesRequest } from './request/request.ts';
import type { ResponsesRequest } from './responses.ts';

/** Fields of a WebSocket message in addition to those of the request. */
export const socketFields = ['type', 'event_id', 'generate'] as const;

/** Reads a WebSocket message: the body of `POST /v1/responses` with a `type`. @throws ApiError `validation_error` (422) */
export function parseSocketRequest(text: string, report?: ReportFields): JsonBody<ResponsesRequest> {
  const { value } = parseJson(text, { what: 'The message' });
  const { type, background, generate } = (value ?? {}) as Record<string, unknown>;
  if (type !== 'response.create')
    throw invalid(
      'type',
      `expected "response.create", got ${typeof type === 'string' ? quoted(type) : 'none'}`,
    );
  if (background === true)
    throw invalid('background', 'background responses are not supported over a WebSocket: leave it out');
  if (generate === false)
    throw invalid(
      'generate',
      'warm-up requests are not supported: leave it out, and send the turn when it is complete',
    );
  const faults = checkResponsesRequest(value);
  if (faults.length > 0) throw faultsError(faults);
  report?.(value as object, checkResponsesRequest.known);
  const request = value as ResponsesRequest;
  if (requestedTier(request) === 'flex')
    throw invalid('service_tier', '"flex" is not supported over a WebSocket: send POST /v1/responses');
  return { value: request, text };
}

/** Error event of a failed turn. @param next sequence number after the last event of the turn */
export function socketError(error: unknown, next: number): string {
  const fields = flatAndNestedError(error);
  const status = error instanceof ApiError ? error.status : 500;
  return JSON.stringify({
    type: 'error',
    // OpenAI documents 400 for this transport.
    status: fields.code === 'previous_response_not_found' ? 400 : status,
    sequence_number: next,
    ...fields,
  });
}
