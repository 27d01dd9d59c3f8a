import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FileLock, lockFile } from '../../base/file-lock.ts';
import { StoreError } from '../../core/store-error.ts';
import { translate } from './errors.ts';
import { ownerFile } from './owner-file.ts';

/**
 * Locks a data folder for this process: two processes would each treat the other's work as abandoned. The lock ends with the
 * process; `lock.pid` only names the holder.
 * @throws StoreError `locked`, naming the folder and the other process
 */
export function lockFolder(folder: string, pid: number): FileLock {
  const path = join(folder, 'lock.db');
  const pidPath = ownerFile(folder);
  const lock = takeLock(folder, path, pidPath);
  try {
    writeFileSync(pidPath, `${pid}\n`);
  } catch (error) {
    lock.release();
    throw folderFault(folder, error);
  }
  let isReleased = false;
  return {
    release() {
      if (isReleased) return;
      isReleased = true;
      rmSync(pidPath, { force: true });
      lock.release();
    },
  };
}

function takeLock(folder: string, path: string, pidPath: string): FileLock {
  try {
    return lockFile(path);
  } catch (error) {
    const fault = translate(error, path);
    if (!(fault instanceof StoreError) || fault.code !== 'locked') throw fault;
    throw new StoreError(
      'locked',
      `The data folder ${folder} is in use by ${ownerOf(pidPath)}.`,
      'Stop that process, or give this one another data folder. Several processes share one service through Postgres.',
      { cause: error },
    );
  }
}

function ownerOf(pidPath: string): string {
  try {
    return `process ${readFileSync(pidPath, 'utf8').trim()}`;
  } catch {
    return 'another process';
  }
}

/** Error for a file or folder that could not be created in `folder`. */
export function folderFault(folder: string, cause: unknown): StoreError {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return code === 'ENOSPC' || code === 'EDQUOT'
    ? diskFull(folder, cause)
    : new StoreError(
        'unwritable',
        `The data folder ${folder} cannot be written to.`,
        'Create it, let this user own it, and check that its disk is not mounted read-only.',
        { cause },
      );
}

export function diskFull(folder: string, cause: unknown): StoreError {
  return new StoreError('disk_full', `The disk of ${folder} is full.`, 'Free some space and start again.', {
    cause,
  });
}
