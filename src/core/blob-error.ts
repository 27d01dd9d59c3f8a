/**
 * A fault of stored bytes. Whoever meets one decides by its code whether to wait or to give up:
 *
 * - `missing`: the blob is not there, and the folder that would hold it is. Asking again does not help.
 * - `damaged`: the blob is there and is not what was stored: it is cut, or its content differs. Asking again does not help.
 * - `unavailable`: nobody can tell at present: the disk reports an error, the folder is not mounted, this user may not
 *   read it, the process has too many files open. The blob may well be whole: ask again later.
 *
 * A disk that is full is none of these but an ApiError `insufficient_storage`.
 */
export class BlobError extends Error {
  readonly code: BlobErrorCode;
  /** What an operator can do about it: a sentence. */
  readonly hint: string;

  constructor(code: BlobErrorCode, message: string, hint: string, options?: { cause: unknown }) {
    super(message, options);
    this.name = 'BlobError';
    this.code = code;
    this.hint = hint;
  }
}

export type BlobErrorCode = 'missing' | 'damaged' | 'unavailable';

/** The bytes are lost, whoever asks and whenever. */
export function isBlobLost(error: unknown): error is BlobError {
  return error instanceof BlobError && error.code !== 'unavailable';
}
