import { BlobError } from '../../core/blob-error.ts';
import { ApiError } from '../../core/errors.ts';
import type { DiskFs } from './fs.ts';

/** What the system says when a disk, or the share of it that is ours, is full. */
const fullCodes = new Set(['ENOSPC', 'EDQUOT']);

export function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ENOENT';
}

/** Undefined where the file is not there. */
export async function ifExists<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Runs `work`, whose faults are told as the contract tells them. */
export async function withBlobErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toBlobError(error);
  }
}

/** What the system refused as the contract tells it; everything else passes through. */
export function toBlobError(error: unknown): unknown {
  const code = codeOf(error);
  if (code === undefined || error instanceof BlobError || error instanceof ApiError) return error;
  if (fullCodes.has(code))
    return new ApiError('insufficient_storage', 'The disk is full: nothing more can be stored.', {
      cause: error,
    });
  return new BlobError('unavailable', `The stored files cannot be used at present: ${code}.`, hintFor(code), {
    cause: error,
  });
}

function hintFor(code: string): string {
  if (code === 'EMFILE' || code === 'ENFILE')
    return 'Raise the number of files this process may have open (ulimit -n).';
  if (code === 'EACCES' || code === 'EPERM') return 'Let the user that Offpeak runs as own the data folder.';
  if (code === 'ENOENT') return 'Look whether its disk is mounted.';
  return 'Look for the cause in the system log.';
}

/**
 * What it means that a blob was not found. A folder that is gone altogether, as one whose disk is not mounted, says
 * nothing about the blobs in it.
 * @param standing a folder that is there whenever the blobs are
 */
export async function missingBlob(
  fs: DiskFs,
  standing: string,
  name: string,
  cause: unknown,
): Promise<BlobError> {
  return (await withBlobErrors(() => ifExists(() => fs.stat(standing))))
    ? new BlobError('missing', `The blob ${name} is missing.`, 'Restore the files from a backup.', {
        cause,
      })
    : new BlobError('unavailable', `The folder ${standing} is gone.`, hintFor('ENOENT'), { cause });
}

export function truncatedBlob(name: string, size: number, expected: number): BlobError {
  return new BlobError(
    'damaged',
    `The blob ${name} ends at byte ${size}; it was expected to reach ${expected}.`,
    'Restore the files from a backup.',
  );
}

/** The system's own code, such as `EIO`; our errors have codes too, and none of the system's. */
function codeOf(error: unknown): string | undefined {
  return error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    /^E[A-Z0-9]+$/.test(error.code)
    ? error.code
    : undefined;
}
