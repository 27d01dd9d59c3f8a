import { join } from 'node:path';
import { ifExists } from './faults.ts';
import { blobKey } from '../names.ts';
import type { DiskFs } from './fs.ts';

export function pathOf(folder: string, name: string): string {
  return join(folder, blobKey(name));
}

/** Epoch milliseconds by the clock of the file system, or nothing when the file has gone. */
export async function modifiedAtOf(fs: DiskFs, path: string): Promise<number | undefined> {
  return (await ifExists(() => fs.stat(path)))?.mtimeMs;
}
