import { constants } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../base/make-folder.ts';
import { isMissingFile } from '../base/missing-file.ts';
import { copyDatabase } from '../store/sqlite/copy.ts';

export interface BackedUp {
  files: number;
  bytes: number;
}

/**
 * Copies the embedded database and all files of a data folder, also while a server uses it. The database is copied first, as a
 * snapshot. Files never change and are written before their rows, so the copy has every file of the snapshot except those deleted
 * meanwhile; a restored server removes the others.
 * @param has the parts in the folder. A Postgres or a bucket is backed up with its own tools, a Postgres before the files
 * @throws the system's error, without removing what was copied
 */
export async function backUp(
  data: string,
  target: string,
  has: { database: boolean; files: boolean },
): Promise<BackedUp> {
  await makeFolder(target, 0o700);
  // An existing folder may be readable by other users, and so would be the database in it.
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
    // Files in tmp are incomplete and have no row.
    if (entry.isDirectory() && entry.name !== 'tmp') await copyFolder(source, copy, done);
    else if (entry.isFile()) await copyOne(source, copy, done);
  }
}

async function copyOne(source: string, copy: string, done: BackedUp): Promise<void> {
  try {
    // A copy-on-write file system shares the blocks.
    await copyFile(source, copy, constants.COPYFILE_FICLONE);
  } catch (error) {
    // Deleted since readdir.
    if (isMissingFile(error)) return;
    throw error;
  }
  done.files++;
  done.bytes += (await stat(copy)).size;
}
