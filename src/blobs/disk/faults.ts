import { undefinedIfMissing } from '../../base/missing-file.ts';
import { BlobError, lostBlob } from '../../core/blob-error.ts';
import { ApiError } from '../../core/errors.ts';
import type { DiskFs } from './fs.ts';

/** System error codes for a full disk or quota. */
const fullCodes = new Set(['ENOSPC', 'EDQUOT']);

/** Result of `work`; undefined if the file is missing. */
export async function ifExists<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    return undefinedIfMissing(error);
  }
}

/** Runs `work`, with its errors mapped by `toBlobError`. */
export async function withBlobErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toBlobError(error);
  }
}

/** Maps a system error to the errors of the `Blobs` contract; returns any other error unchanged. */
export function toBlobError(error: unknown): unknown {
  const code = codeOf(error);
  if (code === undefined || error instanceof BlobError || error instanceof ApiError) return error;
  if (fullCodes.has(code)) return new ApiError('insufficient_storage', 'The disk is full.', { cause: error });
  return new BlobError('unavailable', `The stored files are unavailable: ${code}.`, hintFor(code), {
    cause: error,
  });
}

function hintFor(code: string): string {
  if (code === 'EMFILE' || code === 'ENFILE')
    return 'Raise the limit of open files of this process (ulimit -n).';
  if (code === 'EACCES' || code === 'EPERM')
    return 'Make the user that Offpeak runs as the owner of the data folder.';
  if (code === 'ENOENT') return 'Check that its disk is mounted.';
  return 'The system log may show the cause.';
}

/**
 * Error for a blob that was not found: `unavailable` if the whole store is gone, for example because its disk is not mounted.
 * @param sentinel folder that exists whenever the store does
 */
export async function missingBlob(
  fs: DiskFs,
  sentinel: string,
  name: string,
  cause: unknown,
): Promise<BlobError> {
  return (await withBlobErrors(() => ifExists(() => fs.stat(sentinel))))
    ? lostBlob('missing', `The blob ${name} is missing.`, { cause })
    : new BlobError('unavailable', `The folder ${sentinel} is missing.`, hintFor('ENOENT'), { cause });
}

export function truncatedBlob(name: string, size: number, expected: number): BlobError {
  return lostBlob('damaged', `The blob ${name} ends at byte ${size}, before byte ${expected}.`);
}

/** Code of a system error, such as `EIO`; Offpeak's own error codes have another form. */
function codeOf(error: unknown): string | undefined {
  return error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    /^E[A-Z0-9]+$/.test(error.code)
    ? error.code
    : undefined;
}
