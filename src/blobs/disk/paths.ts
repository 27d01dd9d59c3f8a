import { join } from 'node:path';
import { ifThere } from './faults.ts';
import { placeOf } from '../names.ts';
import type { DiskFs } from './fs.ts';

export function pathOf(folder: string, name: string): string {
  return join(folder, placeOf(name));
}

/** Epoch milliseconds by the clock of the file system, or nothing when the file has gone. */
export async function modifiedAtOf(fs: DiskFs, path: string): Promise<number | undefined> {
  return (await ifThere(() => fs.stat(path)))?.mtimeMs;
}
