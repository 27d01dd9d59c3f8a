import { type FileLock, isLockHeld, lockFile } from '../../../base/file-lock.ts';
import type { ModelFs } from './model-file-deps.ts';

/** The right to write a file's part. */
export type Lease = NonNullable<Awaited<ReturnType<typeof takeLease>>>;

/**
 * Takes the lease of `path`, whose folder is there: a lock on `<name>.part.lock.db`. Undefined while another process has it, or
 * another pull of this one. Where a disk cannot lock, everybody has it.
 */
export async function takeLease(path: string, fs: ModelFs) {
  // Not `.part.lock`: earlier versions wrote that, and not as a database.
  const lockPath = `${path}.part.lock.db`;
  let lock: FileLock | undefined;
  try {
    lock = lockFile(lockPath);
  } catch (error) {
    // Any other fault of a folder is met, and told, when the part is opened.
    if (isLockHeld(error)) return undefined;
  }
  return {
    async release() {
      // Before it is let go: afterwards the file may be another's lock. Not every system removes what is open.
      await fs.rm(lockPath, { force: true }).catch(() => {});
      lock?.release();
    },
  };
}
