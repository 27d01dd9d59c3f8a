import { ApiError } from '../core/errors.ts';

const firstBackoffMs = 1_000;
const maxBackoffMs = 30_000;

/** Exponential, capped, with jitter: between half and all of the step. `attempt` counts from 1, `random` is in [0, 1). */
export function backoffMs(attempt: number, random: number, mostMs = maxBackoffMs): number {
  const step = Math.min(mostMs, firstBackoffMs * 2 ** (attempt - 1));
  return Math.round(step * (0.5 + random / 2));
}

/** Whatever an engine threw, as an error of the catalogue. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError('internal_error', 'The request failed inside the server.', { cause: error });
}
