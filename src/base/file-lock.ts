import { closeSync, openSync, readSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

export interface FileLock {
  /** To be called once. */
  release(): void;
}

/**
 * Locks the file at `path`, which serves no other purpose. The lock is an exclusive transaction on an empty SQLite database,
 * so the operating system releases it however the process ends.
 * @param owner id of the process, for `lockOwner`; an `owner` makes the database four kilobytes long
 * @throws the driver's error, see `isLockHeld`
 */
export function lockFile(path: string, owner?: number): FileLock {
  const connection = new DatabaseSync(path, { timeout: 0 });
  try {
    // In the exclusive locking mode, the lock outlives the transaction that stores the owner.
    if (owner !== undefined)
      connection.exec(
        `PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE; PRAGMA user_version = ${owner}; COMMIT`,
      );
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

/** Offset of the user version in the header of a database. */
const ownerOffset = 60;

/** Process that holds the lock, or held it last; undefined if it is not recorded. The lock does not prevent this read. */
export function lockOwner(path: string): number | undefined {
  const bytes = Buffer.alloc(4);
  try {
    const file = openSync(path, 'r');
    try {
      if (readSync(file, bytes, 0, bytes.length, ownerOffset) < bytes.length) return undefined;
    } finally {
      closeSync(file);
    }
  } catch {
    return undefined;
  }
  return bytes.readUInt32BE(0) || undefined;
}
