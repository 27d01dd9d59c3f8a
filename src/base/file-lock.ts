import { DatabaseSync } from 'node:sqlite';

export interface FileLock {
  /** To be called once. */
  release(): void;
}

/**
 * Locks the file at `path`, which serves no other purpose. The lock is an exclusive transaction on an empty SQLite database,
 * so the operating system releases it however the process ends.
 * @throws the driver's error, see `isLockHeld`
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

/** SQLITE_BUSY, and SQLITE_IOERR_FSTAT: the holder removed the file between our opening and locking it. */
const heldCodes: unknown[] = [5, 1802];

/** True if `lockFile` threw because another process holds the lock, or just released it. */
export function isLockHeld(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && heldCodes.includes(error.errcode);
}
