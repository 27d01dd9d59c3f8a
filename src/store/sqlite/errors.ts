import { ApiError } from '../../core/errors.ts';
import { StoreError, type StoreErrorCode } from '../../core/store-error.ts';

/** SQLite's primary result codes (sqlite.org/rescode.html) that an operator can act on. */
const codes = { busy: 5, readonly: 8, ioerr: 10, corrupt: 11, full: 13, cantopen: 14, notadb: 26 } as const;

/** The shared-memory file could not grow: the disk is full. */
const ioerrShmSize = 4_874;

/** Maps SQLite's errors to ours; other errors pass through. */
export function translate(error: unknown, path: string): unknown {
  const code = resultCode(error);
  if (code === undefined) return error;
  if (code === ioerrShmSize) return diskFull(error);
  const fault = (kind: StoreErrorCode, message: string, hint: string) =>
    new StoreError(kind, message, hint, { cause: error });
  switch (code & 0xff) {
    case codes.full:
      return diskFull(error);
    case codes.busy:
      return fault(
        'locked',
        `The database ${path} is locked by another program.`,
        'Close the other program that has it open.',
      );
    case codes.readonly:
    case codes.cantopen:
      return fault(
        'unwritable',
        `The database ${path} cannot be opened for writing.`,
        'Check that the folder exists, that this user may write to it, and that the disk is not mounted read-only.',
      );
    case codes.corrupt:
      return fault(
        'corrupt',
        `The database ${path} is damaged.`,
        'Restore it from a backup, or save what can be read with "sqlite3 <database> .recover".',
      );
    case codes.notadb:
      return fault(
        'not_a_database',
        `${path} is not a database.`,
        'Point the data folder elsewhere, or restore the file from a backup.',
      );
    case codes.ioerr:
      return fault(
        'unwritable',
        `The disk under ${path} reports an error.`,
        'Check the system log for the cause.',
      );
    default:
      return error;
  }
}

function diskFull(cause: unknown): ApiError {
  return new ApiError('insufficient_storage', 'The disk is full: nothing more can be stored.', { cause });
}

function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode : undefined;
}
