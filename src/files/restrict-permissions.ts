import { chmod, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../base/log.ts';
import { undefinedIfMissing } from '../base/missing-file.ts';

/** Private entries of a data folder; folders protect their contents. */
const privateEntries = ['offpeak.db', 'offpeak.db-wal', 'offpeak.db-shm', 'lock.db', 'lock.pid', 'blobs'];

const othersBits = 0o077;

/**
 * Removes the permissions of other users from the private entries of the data folder, and warns if there were any. The folder
 * itself stays as it is: its owner decides about its other contents.
 */
export async function restrictPermissions(folder: string, log: Log): Promise<void> {
  const restricted: string[] = [];
  for (const name of privateEntries) {
    const path = join(folder, name);
    const mode = await modeOf(path);
    if (mode === undefined || (mode & othersBits) === 0) continue;
    // Only the owner of a file can change its permissions.
    await chmod(path, mode & ~othersBits).then(
      () => restricted.push(name),
      (error: unknown) =>
        log.warn({ err: error, path }, 'Other users can open a file, and that cannot be changed.'),
    );
  }
  const mode = (await modeOf(folder)) ?? 0;
  if (restricted.length === 0 && (mode & othersBits) === 0) return;
  log.warn(
    { folder, mode: mode.toString(8), closed: restricted },
    'Other users of this machine can open the data folder. Its files are private now; make the folder private with chmod 700.',
  );
}

/** Permission bits; undefined if there is no such file. */
async function modeOf(path: string): Promise<number | undefined> {
  const found = await stat(path).catch(undefinedIfMissing);
  return found && found.mode & 0o777;
}
