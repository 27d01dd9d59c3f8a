import { BlobError, isBlobLost } from '../../core/blob-error.ts';
import { ApiError } from '../../core/errors.ts';
import { withUpstreamMessage } from '../../core/waiting.ts';
import { isDatabaseOutage } from '../../core/database-fault.ts';

/** Pauses between two attempts of a line. */
export const lineBackoff = { initialMs: 1_000, maxMs: 30_000 };
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError('internal_error', 'The request failed inside the server.', { cause: error });
}

/** An error whose message quotes the upstream's message. */
export class QuotedError extends ApiError {
  constructor({ code, message, upstreamMessage, blame }: ApiError) {
    super(code, withUpstreamMessage(message, upstreamMessage), { blame });
  }
}

/** True if the database or the disk is unavailable for now. */
export function isStorageUnavailable(error: unknown): boolean {
  return isDatabaseOutage(error) || (error instanceof BlobError && !isBlobLost(error));
}
