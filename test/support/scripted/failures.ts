import { ApiError, permanent, ambiguous } from '../../../src/core/errors.ts';

/** Error of `[[fail how]]`, as an upstream with this fault causes it. */
export function failureFor(how: string): ApiError {
  if (how === 'timeout')
    return new ApiError('upstream_timeout', 'The scripted engine did not answer in time.');
  if (how === 'unreachable')
    return new ApiError('upstream_unreachable', 'The scripted engine cannot be reached.');
  if (how === 'invalid')
    return new ApiError('invalid_upstream_response', 'The scripted engine answered something unreadable.');
  const status = Number(how);
  const message = `The scripted engine answered with status ${status}.`;
  if (status === 429 || status === 503 || status === 529) return new ApiError('engine_overloaded', message);
  if (status === 401 || status === 403)
    return new ApiError('upstream_error', message, {
      blame: { scope: 'account', certain: status === 401, retry: true },
    });
  if (status === 400 || status === 413 || status === 422) return new ApiError('request_refused', message);
  if (status >= 400 && status < 500)
    return new ApiError('upstream_error', message, { blame: status === 404 ? ambiguous : permanent });
  return new ApiError('upstream_error', message);
}
