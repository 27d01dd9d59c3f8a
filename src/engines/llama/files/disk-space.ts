import { dirname } from 'node:path';
import { showBytes } from '../../../base/bytes.ts';
import { ModelFileError } from './faults.ts';
import type { ModelFs } from './part-file.ts';

/** Left to others on the same disk: their logs and databases have to go on. */
const spareBytes = 64 * 1024 ** 2;

/** Refuses to begin what cannot end: `bytes` more have to fit on the disk of `folder`, which need not exist yet. */
export async function checkSpace(folder: string, bytes: number, fs: ModelFs): Promise<void> {
  const { bavail, bsize } = await statExisting(folder, fs);
  const free = bavail * bsize;
  if (bytes === 0 || bytes + spareBytes <= free) return;
  throw new ModelFileError(
    `${showBytes(bytes)} are still to be fetched, but only ${showBytes(free)} are free in ${folder}.`,
    'Make room, or choose another folder.',
  );
}

async function statExisting(folder: string, fs: ModelFs): Promise<{ bavail: number; bsize: number }> {
  try {
    return await fs.statfs(folder);
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    if (!isMissing || dirname(folder) === folder) throw error;
    return statExisting(dirname(folder), fs);
  }
}
