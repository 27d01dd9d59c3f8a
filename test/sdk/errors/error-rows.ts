import type { ApiErrorOptions, ErrorCode } from '../../../src/core/errors.ts';

/** Error as the official clients raise it. `docs/clients.md` has the same table. */
export interface ErrorRow {
  status: number;
  code: ErrorCode;
  /** Class in the openai clients. `APIError` is `APIStatusError` in Python. */
  openai: string;
  /** Class in the anthropic clients, from 1.0 for JavaScript. Older versions have fewer classes. */
  anthropic: string;
  /** `error.type`, and that of /v1/messages if different. */
  type: string;
  messagesType?: string;
  /** True if the clients retry by default. */
  retried: boolean;
  options?: ApiErrorOptions;
}

const invalid = 'invalid_request_error';
const server = {
  type: 'server_error',
  messagesType: 'api_error',
  openai: 'InternalServerError',
  retried: true,
};

export const errorRows: ErrorRow[] = [
  row(400, 'context_length_exceeded', 'BadRequestError', { type: invalid }),
  row(401, 'invalid_api_key', 'AuthenticationError', { type: 'authentication_error' }),
  row(402, 'budget_exceeded', 'PaymentRequiredError', {
    openai: 'APIError',
    type: 'insufficient_quota',
    messagesType: 'billing_error',
  }),
  row(403, 'model_not_allowed', 'PermissionDeniedError', { type: 'permission_error' }),
  row(404, 'model_not_found', 'NotFoundError', { type: invalid, messagesType: 'not_found_error' }),
  row(405, 'method_not_allowed', 'APIError', { type: invalid, options: { allow: 'POST' } }),
  row(408, 'request_timeout', 'RequestTimeoutError', {
    openai: 'APIError',
    type: 'timeout',
    messagesType: 'timeout_error',
    retried: true,
  }),
  row(409, 'file_in_use', 'ConflictError', { type: 'conflict', messagesType: 'conflict_error' }),
  row(413, 'payload_too_large', 'ContentTooLargeError', { openai: 'APIError', type: invalid }),
  row(415, 'unsupported_media_type', 'APIError', { type: invalid }),
  row(422, 'validation_error', 'UnprocessableEntityError', { type: invalid, options: { param: 'tools[0]' } }),
  row(429, 'rate_limit_exceeded', 'RateLimitError', {
    type: 'rate_limit_error',
    retried: true,
    options: { retryAfter: 1 },
  }),
  row(431, 'headers_too_large', 'RequestHeaderFieldsTooLargeError', { openai: 'APIError', type: invalid }),
  row(500, 'internal_error', 'InternalServerError', server),
  row(502, 'upstream_error', 'InternalServerError', server),
  row(503, 'engine_overloaded', 'ServiceUnavailableError', {
    ...server,
    messagesType: 'overloaded_error',
    options: { retryAfter: 1 },
  }),
  row(504, 'upstream_timeout', 'GatewayTimeoutError', server),
  row(507, 'insufficient_storage', 'InternalServerError', server),
];

/** Errors whose headers override the clients' retry rules. */
export const retryHeaderRows: ErrorRow[] = [
  row(502, 'upstream_error', 'InternalServerError', {
    ...server,
    retried: false,
    options: { shouldRetry: false },
  }),
];

/** Message that the exception should contain. */
export function messageFor({ status, code }: ErrorRow): string {
  return code === 'internal_error'
    ? 'Internal error. Give the request ID to the operator.'
    : `A sentence that tells what ${status} was about.`;
}

function row(
  status: number,
  code: ErrorCode,
  anthropic: string,
  more: Partial<ErrorRow> & { type: string },
): ErrorRow {
  return { status, code, anthropic, openai: anthropic, retried: false, ...more };
}
