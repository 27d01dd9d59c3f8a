import { join } from 'node:path';
import { isMissing } from './disk-faults.ts';
import type { DiskFs } from './disk-fs.ts';

/** Names are made by us; anything else would be a way out of the folder. */
export function isName(name: string): boolean {
  return /^blob_[0-9a-f]{32}(\.index)?$/.test(name);
}

/** Where a blob stands: the last digits of an id are random, so the folders fill evenly. */
export function pathOf(folder: string, name: string): string {
  if (!isName(name)) throw new Error(`Not the name of a blob: ${JSON.stringify(name.slice(0, 64))}`);
  return join(folder, name.slice(35, 37), name);
}

/** Epoch milliseconds by the clock of the file system, or nothing when the file has gone. */
export async function modifiedAtOf(fs: DiskFs, path: string): Promise<number | undefined> {
  try {
    return (await fs.stat(path)).mtimeMs;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
