import { type FileLock, isLockHeld, lockFile } from '../../../base/file-lock.ts';
import type { ModelFs } from './model-file-deps.ts';

/** Exclusive right to write the part file of a model file. */
export type Lease = NonNullable<Awaited<ReturnType<typeof takeLease>>>;

/**
 * Takes the lease of `path`, whose folder exists, by a lock on `<name>.part.lock.db`. Returns undefined while another
 * process, or another pull in this one, holds it. A disk without locks grants every lease.
 */
export async function takeLease(path: string, fs: ModelFs) {
  const lockPath = `${path}.part.lock.db`;
  let lock: FileLock | undefined;
  try {
    lock = lockFile(lockPath);
  } catch (error) {
    // Opening the part file reports any other fault of the folder.
    if (isLockHeld(error)) return undefined;
  }
  return {
    async release() {
      // Removed before the release, because afterwards it may be the lock of another process. Some systems keep open files.
      await fs.rm(lockPath, { force: true }).catch(() => {});
      lock?.release();
    },
  };
}
