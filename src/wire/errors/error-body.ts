import { omitNullish } from '../../base/fields.ts';
import { ApiError, type ErrorKind, type Fault } from '../../core/errors.ts';
import { stepsOf } from '../schema/explain.ts';
import { maxFaults } from '../schema/validate.ts';

/** API whose names the `type` of an error uses. */
export type ErrorFormat = 'chat' | 'messages';

/** Error body that every supported client library reads (docs/errors.md). */
export interface ErrorBody {
  type: 'error';
  /** `error_code` repeats `code` where the newer clients of the messages format look for it. */
  error: ErrorObject & { details: { error_code: string; errors: Fault[] } };
  message: string;
  detail?: { loc: (string | number)[]; msg: string; type: 'value_error' }[];
  request_id: string;
}

export interface ErrorObject {
  code: string;
  message: string;
  type: string;
  param: string | null;
}

const chatTypes: Record<ErrorKind, string> = {
  invalid: 'invalid_request_error',
  authentication: 'authentication_error',
  quota: 'insufficient_quota',
  permission: 'permission_error',
  missing: 'invalid_request_error',
  timeout: 'timeout',
  conflict: 'conflict',
  rate: 'rate_limit_error',
  overloaded: 'server_error',
  server: 'server_error',
};

const messagesTypes: Record<ErrorKind, string> = {
  ...chatTypes,
  quota: 'billing_error',
  missing: 'not_found_error',
  timeout: 'timeout_error',
  conflict: 'conflict_error',
  overloaded: 'overloaded_error',
  server: 'api_error',
};

/** Seconds. Some SDKs ignore longer waits, and others obey any. */
const maxRetryAfter = 60;

/**
 * Builds the answer to any error. Errors other than `ApiError` become `internal_error` without details.
 * @param requestId value of `x-request-id`
 * @param where part of the request that the faults are in
 */
export function errorBody(
  error: unknown,
  requestId: string,
  format: ErrorFormat = 'chat',
  where: 'body' | 'query' = 'body',
) {
  const known = asApiError(error);
  const { code, message, type, param } = errorObject(known, format);
  const errors = known.faults.slice(0, maxFaults).map(detailOf);
  const body: ErrorBody = {
    type: 'error',
    error: { type, code, message, param, details: { error_code: code, errors } },
    message,
    ...(known.status === 422 && { detail: pydanticDetail(known, where) }),
    request_id: requestId,
  };
  return { status: known.status, headers: headersOf(known), body };
}

/** The `error` member alone, for streams and batch error lines. */
export function errorObject(error: unknown, format: ErrorFormat = 'chat'): ErrorObject {
  const { code, message, kind, param } = asApiError(error);
  const type = (format === 'messages' ? messagesTypes : chatTypes)[kind];
  return { code, message: message.toWellFormed(), type, param };
}

/** Error of a response stream, flat and nested, because each family of clients reads only one of the forms. */
export function flatAndNestedError(error: unknown): Omit<ErrorObject, 'type'> & { error: ErrorObject } {
  const { code, message, param, type } = errorObject(error);
  return { code, message, param, error: { type, code, message, param } };
}

function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError('internal_error', 'Internal error. Find it in the server log by the request id.');
}

function headersOf(error: ApiError): Record<string, string> {
  const headers: Record<string, string> = {};
  // An overloaded server always says when to retry.
  const seconds = error.retryAfter ?? (error.kind === 'overloaded' ? 1 : undefined);
  if (seconds !== undefined)
    headers['retry-after'] = `${Math.min(maxRetryAfter, Math.max(1, Math.ceil(seconds)))}`;
  // SDKs prefer milliseconds, and wait no longer than necessary.
  if (error.code === 'rate_limit_exceeded' && seconds !== undefined)
    headers['retry-after-ms'] = `${Math.min(maxRetryAfter * 1000, Math.max(1, Math.ceil(seconds * 1000)))}`;
  if (error.shouldRetry !== undefined) headers['x-should-retry'] = `${error.shouldRetry}`;
  if (error.allow !== undefined) headers['allow'] = error.allow;
  if (error.contentRange !== undefined) headers['content-range'] = error.contentRange;
  return headers;
}

/** Copies a fault with its members in a fixed order. */
function detailOf({ line, custom_id, param, code, message }: Fault): Fault {
  return { ...omitNullish({ line, custom_id, param }), code, message };
}

/** List that clients generated from a FastAPI schema (`HTTPValidationError`) expect. */
function pydanticDetail(error: ApiError, where: string): NonNullable<ErrorBody['detail']> {
  const faults =
    error.faults.length > 0 ? error.faults : [{ param: error.param ?? undefined, message: error.message }];
  return faults.slice(0, maxFaults).map((fault) => ({
    loc: [where, ...stepsOf(fault.param ?? '').map(({ step }) => step)],
    msg: fault.message,
    type: 'value_error' as const,
  }));
}
