import { BlobError, isBlobLost } from '../../core/blob-error.ts';
import { isDatabaseOutage } from '../../core/database-fault.ts';
import { ApiError } from '../../core/errors.ts';

/**
 * Error that a client sees for a thrown value. Errors of the HTTP library are translated; the text of any other error is
 * never shown (security.md, C25).
 */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const retried = { retryAfter: 5, cause: error };
  if (isDatabaseOutage(error))
    return new ApiError('storage_unavailable', 'The database is unavailable. Try again.', retried);
  if (isBlobLost(error))
    return new ApiError('storage_damaged', 'Stored data is damaged. Give the request ID to the operator.', {
      cause: error,
    });
  if (error instanceof BlobError)
    return new ApiError('storage_unavailable', 'The file storage is unavailable. Try again.', retried);
  const { statusCode = 500, code } = Object(error) as { statusCode?: unknown; code?: unknown };
  if (typeof code === 'string' && code.startsWith('FST_')) return fromFastify(statusCode, code, error);
  return new ApiError('internal_error', 'Internal error. Give the request ID to the operator.', {
    cause: error,
  });
}

function fromFastify(statusCode: unknown, code: string, cause: unknown): ApiError {
  if (code === 'FST_ERR_BAD_URL') return noSuchRoute();
  if (statusCode === 413)
    return new ApiError('payload_too_large', 'The request body is too large.', { cause });
  if (statusCode === 415)
    return new ApiError('unsupported_media_type', 'The Content-Type header is invalid.', { cause });
  return new ApiError('malformed_request', 'The request is malformed.', { cause });
}

/** Error for an unknown path, with a hint for a wrong base URL. */
export function noSuchRoute(path = ''): ApiError {
  return new ApiError('not_found', notFoundMessage(path));
}

/** Error for a request to a process that serves none. */
export function notServed(): ApiError {
  return new ApiError(
    'not_found',
    'This process has the role worker and serves no requests. Use a process with the role api or all.',
  );
}

function notFoundMessage(path: string): string {
  if (path.startsWith('/v1/v1/'))
    return 'The path contains /v1 twice. Set the base URL of your client without /v1.';
  if (!path.startsWith('/v1') && apiPath.test(path))
    return 'The path must start with /v1. Set the base URL of your client with /v1.';
  return 'Unknown path. See /openapi.json for all routes.';
}

const apiPath =
  /^\/(batches|files|chat|completions|conversations|embeddings|rerank|score|moderations|models|messages|responses|admin)(\/|$)/;

/** Error for a known path with another method. */
export function wrongMethod(method: string, allowed: string[]): ApiError {
  const allow = allowed.join(', ');
  const message = `${method} is not allowed for this path. Use ${allow}.`;
  return new ApiError('method_not_allowed', message, { allow });
}
