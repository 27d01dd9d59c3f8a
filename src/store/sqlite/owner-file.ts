import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** The file that names the process on a data folder. A process that ends by itself removes it. */
export function ownerFile(folder: string): string {
  return join(folder, 'lock.pid');
}

/** True where the last process on a folder was killed. Only right before the folder is locked. */
export function wasKilled(folder: string): boolean {
  return existsSync(ownerFile(folder));
}
