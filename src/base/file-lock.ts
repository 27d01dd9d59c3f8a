import { DatabaseSync } from 'node:sqlite';

export interface FileLock {
  /** Once. */
  release(): void;
}

/**
 * Takes the lock that the file at `path` is for, which must be for nothing else. It is an exclusive transaction on an empty
 * database, so the operating system drops it however its holder ends.
 * @throws the driver's error
 */
export function lockFile(path: string): FileLock {
  const connection = new DatabaseSync(path, { timeout: 0 });
  try {
    connection.exec('BEGIN EXCLUSIVE');
    return { release: () => connection.close() };
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** SQLITE_BUSY, and SQLITE_IOERR_FSTAT: who had it removed the file between its opening and its locking. */
const heldCodes: unknown[] = [5, 1802];

/** Whether `lockFile` threw because somebody else has the lock, or had it until now. */
export function isLockHeld(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && heldCodes.includes(error.errcode);
}
