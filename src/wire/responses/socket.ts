import { ApiError, invalid } from '../../core/errors.ts';
import { flatAndNestedError } from '../errors/error-body.ts';
import type { JsonBody } from '../json/json-body.ts';
import { parseJson, quoted } from '../json/parse.ts';
import { faultsError } from '../schema/validate.ts';
import { checkResponsesRequest } from './request/request.ts';
import type { ResponsesRequest } from './responses.ts';

/**
 * Reads what a client asks for over a WebSocket: the body of `POST /v1/responses` with a `type`.
 * @throws ApiError `validation_error` (422)
 */
export function parseSocketRequest(text: string): JsonBody<ResponsesRequest> {
  const { value } = parseJson(text, { what: 'The message' });
  const { type, background, generate } = (value ?? {}) as Record<string, unknown>;
  if (type !== 'response.create')
    throw invalid(
      'type',
      `expected "response.create", got ${typeof type === 'string' ? quoted(type) : 'none'}`,
    );
  if (background === true)
    throw invalid('background', 'a response over a WebSocket is followed there: leave it out');
  if (generate === false)
    throw invalid('generate', 'nothing is made ready here: leave it out, and send the turn when it is there');
  const faults = checkResponsesRequest(value);
  if (faults.length > 0) throw faultsError(faults);
  return { value: value as ResponsesRequest, text };
}

/**
 * A turn that failed, flat as one family of clients reads errors and nested as the other does.
 * @param next the number after that of the last event of the turn
 */
export function socketError(error: unknown, next: number): string {
  const told = flatAndNestedError(error);
  const status = error instanceof ApiError ? error.status : 500;
  return JSON.stringify({
    type: 'error',
    // As the specification of this transport has it.
    status: told.code === 'previous_response_not_found' ? 400 : status,
    sequence_number: next,
    ...told,
  });
}
