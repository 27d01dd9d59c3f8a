import { constants } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../base/make-folder.ts';
import { copyDatabase } from '../store/sqlite/copy.ts';

export interface BackedUp {
  files: number;
  bytes: number;
}

/**
 * Copies the embedded database and all files of a data folder, while a server works on it. The database goes first, as it is
 * at one moment; files are written before the database knows of them, and never change. So every file that the copy knows
 * is in it, but for those that were deleted meanwhile; what it does not know is cleared away after a restore.
 * @param has what is in the folder: a Postgres is backed up by its own means, and before the files; those of a bucket, too
 * @throws the system's error; what was copied then stays where it is
 */
export async function backUp(
  data: string,
  target: string,
  has: { database: boolean; files: boolean },
): Promise<BackedUp> {
  await makeFolder(target, 0o700);
  // One that was there may be open to others, and the database is as open as its folder.
  await chmod(target, 0o700);
  const done: BackedUp = { files: 0, bytes: 0 };
  if (has.database) copyDatabase(join(data, 'offpeak.db'), join(target, 'offpeak.db'));
  if (has.files) await copyFolder(join(data, 'blobs'), join(target, 'blobs'), done);
  return done;
}

async function copyFolder(from: string, to: string, done: BackedUp): Promise<void> {
  await mkdir(to, { mode: 0o700 });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, copy] = [join(from, entry.name), join(to, entry.name)];
    // What is being written is nobody's yet.
    if (entry.isDirectory() && entry.name !== 'tmp') await copyFolder(source, copy, done);
    else if (entry.isFile()) await copyOne(source, copy, done);
  }
}

async function copyOne(source: string, copy: string, done: BackedUp): Promise<void> {
  try {
    // Where the file system can, both share their blocks.
    await copyFile(source, copy, constants.COPYFILE_FICLONE);
  } catch (error) {
    // Deleted since the folder was read.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return;
    throw error;
  }
  done.files++;
  done.bytes += (await stat(copy)).size;
}
