import { BlobError, isBlobLost } from '../core/blob-error.ts';
import { isDatabaseOutage } from '../core/database-fault.ts';
import { ApiError } from '../core/errors.ts';

/**
 * What a client sees of anything that was thrown. Only an `ApiError` speaks for itself; the HTTP library's refusals are
 * translated; all else is one sentence, whatever it says inside (reliability.md, C25).
 */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (isDatabaseOutage(error))
    return new ApiError('storage_unavailable', 'The database cannot be used at the moment: try again.', {
      retryAfter: 5,
      cause: error,
    });
  if (isBlobLost(error))
    return new ApiError('storage_damaged', 'What was stored here is damaged. The request id tells us what.', {
      cause: error,
    });
  if (error instanceof BlobError)
    return new ApiError('storage_unavailable', 'The stored files cannot be read at the moment: try again.', {
      retryAfter: 5,
      cause: error,
    });
  const { statusCode = 500, code } = Object(error) as { statusCode?: unknown; code?: unknown };
  if (typeof code === 'string' && code.startsWith('FST_')) return fromFastify(statusCode, code, error);
  return new ApiError('internal_error', 'Something went wrong here. The request id tells us what.', {
    cause: error,
  });
}

/** What the HTTP library refused. */
function fromFastify(statusCode: unknown, code: string, cause: unknown): ApiError {
  if (code === 'FST_ERR_BAD_URL') return noSuchRoute();
  if (statusCode === 413) return new ApiError('payload_too_large', 'The body is too large.', { cause });
  if (statusCode === 415)
    return new ApiError('unsupported_media_type', 'The Content-Type cannot be read.', { cause });
  return new ApiError('malformed_request', 'The request cannot be read.', { cause });
}

/** The answer to a path that is no route. Clients that take this for the server of another get told. */
export function noSuchRoute(path = ''): ApiError {
  return new ApiError('not_found', notFoundMessage(path));
}

function notFoundMessage(path: string): string {
  if (path.startsWith('/v1/v1/')) return 'The path has /v1 twice: give your client the base URL without /v1.';
  if (!path.startsWith('/v1') && isApiPath(path))
    return 'The path lacks /v1: give your client the base URL with /v1.';
  return 'There is no such route.';
}

function isApiPath(path: string): boolean {
  return /^\/(batches|files|chat|completions|conversations|embeddings|models|messages|responses|admin)(\/|$)/.test(
    path,
  );
}

/** The answer to a known path with another method. */
export function wrongMethod(method: string, allowed: string[]): ApiError {
  const allow = allowed.join(', ');
  return new ApiError('method_not_allowed', `${method} is not possible here; use ${allow}.`, { allow });
}
