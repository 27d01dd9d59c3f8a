import { DatabaseSync } from 'node:sqlite';

export interface FileLock {
  /** Once. */
  release(): void;
}

/**
 * Takes the lock that the file at `path` is for, which must be for nothing else. It is an exclusive transaction on an empty
 * database, so the operating system drops it however its holder ends.
 * @throws the driver's error, with the `errcode` `heldCode` where somebody else has it
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

/** SQLITE_BUSY */
export const heldCode = 5;
