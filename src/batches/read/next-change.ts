import { ApiError } from '../../core/errors.ts';

/** Promise of the next change, which readers of a stream await. */
export function newChange(): PromiseWithResolvers<void> {
  const change = Promise.withResolvers<void>();
  // A rejection without readers is no error.
  change.promise.catch(() => {});
  return change;
}

/** End of the streams of a server that stops. */
export function shuttingDown(): ApiError {
  return new ApiError('shutting_down', 'The server is shutting down.', { retryAfter: 1 });
}
