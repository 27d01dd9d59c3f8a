import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** File that names the process using a data folder; removed by a regular end. */
export function ownerFile(folder: string): string {
  return join(folder, 'lock.pid');
}

/** True if the last process on a folder was killed. Valid only before the folder is locked. */
export function wasKilled(folder: string): boolean {
  return existsSync(ownerFile(folder));
}
