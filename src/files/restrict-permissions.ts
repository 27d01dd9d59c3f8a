import { chmod, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../base/log.ts';

/** What a data folder holds of ours that nobody else may read. The folders close what is in them. */
const ours = ['offpeak.db', 'offpeak.db-wal', 'offpeak.db-shm', 'lock.db', 'lock.pid', 'blobs'];

const othersBits = 0o077;

/**
 * Closes what an earlier start left open to other users of the machine, and warns of it and of a data folder that is open.
 * The folder itself may have been made so by its owner, who alone can tell what else is in it.
 */
export async function restrictPermissions(folder: string, log: Log): Promise<void> {
  const mended: string[] = [];
  for (const name of ours) {
    const path = join(folder, name);
    const mode = await modeOf(path);
    if (mode === undefined || (mode & othersBits) === 0) continue;
    // Of another user's file only that user can decide.
    await chmod(path, mode & ~othersBits).then(
      () => mended.push(name),
      (error: unknown) =>
        log.warn({ err: error, path }, 'A file is open to other users and cannot be closed.'),
    );
  }
  const mode = (await modeOf(folder)) ?? 0;
  if (mended.length === 0 && (mode & othersBits) === 0) return;
  log.warn(
    { folder, mode: mode.toString(8), closed: mended },
    'Other users of this machine can look into the data folder. Its files were closed to them; close the folder with chmod 700.',
  );
}

/** The permission bits, or nothing where there is no such file. */
async function modeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).mode & 0o777;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
