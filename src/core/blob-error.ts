/**
 * Error of stored bytes. The code says whether a retry can help:
 *
 * - `missing`: the folder exists, the blob does not. Permanent.
 * - `damaged`: the blob is truncated or its content differs from what was stored. Permanent.
 * - `unavailable`: the disk reports an error, the folder is not mounted or not readable, or too many files are open. The blob may
 *   be intact: retry later.
 *
 * A full disk is an ApiError `insufficient_storage` instead.
 */
export class BlobError extends Error {
  readonly code: BlobErrorCode;
  /** Advice to the operator: a sentence. */
  readonly hint: string;

  constructor(code: BlobErrorCode, message: string, hint: string, options?: { cause: unknown }) {
    super(message, options);
    this.name = 'BlobError';
    this.code = code;
    this.hint = hint;
  }
}

export type BlobErrorCode = 'missing' | 'damaged' | 'unavailable';

/** Error for bytes that are permanently lost. */
export function lostBlob(
  code: 'missing' | 'damaged',
  message: string,
  options?: { cause: unknown },
): BlobError {
  return new BlobError(code, message, 'Restore the files from a backup.', options);
}

/** True if there is no such blob. */
export function isBlobMissing(error: unknown): error is BlobError {
  return error instanceof BlobError && error.code === 'missing';
}

/** True if the bytes are permanently lost. */
export function isBlobLost(error: unknown): error is BlobError {
  return error instanceof BlobError && error.code !== 'unavailable';
}
