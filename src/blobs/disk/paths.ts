import { join } from 'node:path';
import { ifExists } from './faults.ts';
import { blobKey } from '../names.ts';
import type { DiskFs } from './fs.ts';

export function blobPath(folder: string, name: string): string {
  return join(folder, blobKey(name));
}

/** Modification time in epoch milliseconds by the file system's clock; undefined if the file is missing. */
export async function readModifiedAt(fs: DiskFs, path: string): Promise<number | undefined> {
  return (await ifExists(() => fs.stat(path)))?.mtimeMs;
}
