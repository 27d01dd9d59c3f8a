import { BlobError, isBlobLost } from '../../core/blob-error.ts';
import { ApiError } from '../../core/errors.ts';
import { withUpstreamMessage } from '../../core/waiting.ts';
import { isDatabaseOutage } from '../../core/database-fault.ts';

/** Between two tries of a line. */
export const linePauses = { initialMs: 1_000, maxMs: 30_000 };

/** Whatever an engine threw, as an error of the catalog. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError('internal_error', 'The request failed inside the server.', { cause: error });
}

/** An error that quotes the upstream's message about itself. */
export class QuotedError extends ApiError {
  constructor({ code, message, upstreamMessage: said, blame }: ApiError) {
    super(code, withUpstreamMessage(message, said), { blame });
  }
}

/** Whether the database or the disk cannot be used at present: what a line needs of them is there again later. */
export function isStorageUnavailable(error: unknown): boolean {
  return isDatabaseOutage(error) || (error instanceof BlobError && !isBlobLost(error));
}
