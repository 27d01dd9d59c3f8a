import { ApiError } from '../core/errors.ts';

/**
 * What a client sees of anything that was thrown. Only an `ApiError` speaks for itself; the HTTP library's refusals are
 * translated; all else is one sentence, whatever it says inside (reliability.md, C25).
 */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const { statusCode = 500, code } = Object(error) as { statusCode?: unknown; code?: unknown };
  if (typeof code === 'string' && code.startsWith('FST_')) return refused(statusCode, code, error);
  return new ApiError('internal_error', 'Something went wrong here. The request id tells us what.', {
    cause: error,
  });
}

/** What the HTTP library refused. */
function refused(statusCode: unknown, code: string, cause: unknown): ApiError {
  if (code === 'FST_ERR_BAD_URL') return noSuchRoute();
  if (statusCode === 413) return new ApiError('payload_too_large', 'The body is too large.', { cause });
  if (statusCode === 415)
    return new ApiError('unsupported_media_type', 'The Content-Type cannot be read.', { cause });
  return new ApiError('malformed_request', 'The request cannot be read.', { cause });
}

/** The answer to a path that is no route. Clients with a base URL of the other family get told. */
export function noSuchRoute(path = ''): ApiError {
  const hint = path.startsWith('/v1/v1/')
    ? 'The path has /v1 twice: give your client the base URL without /v1.'
    : path !== '' && !path.startsWith('/v1') && isRouteName(path)
      ? 'The path lacks /v1: give your client the base URL with /v1.'
      : 'There is no such route.';
  return new ApiError('not_found', hint);
}

function isRouteName(path: string): boolean {
  return /^\/(batches|files|chat|embeddings|models|messages|responses|admin)(\/|$)/.test(path);
}

/** The answer to a known path with another method. */
export function wrongMethod(method: string, allowed: string[]): ApiError {
  const allow = allowed.join(', ');
  return new ApiError('method_not_allowed', `${method} is not possible here; use ${allow}.`, { allow });
}
