import { hostname } from 'node:os';
import { join } from 'node:path';
import { kill } from 'node:process';
import type { DiskFs } from './fs.ts';
import { readModifiedAt } from './paths.ts';

/** Age at which a temporary file of another host counts as abandoned. */
const abandonedMs = 24 * 3_600_000;

/** Part of the name, because hosts may share the folder. */
const host = hostname().replaceAll(/[^A-Za-z0-9-]/g, '_');

/** `<host>.<pid>.<counter>` */
export function temporaryName(pid: number, counter: number): string {
  return `${host}.${pid}.${counter}`;
}

/**
 * Removes the temporary files of dead processes and returns their number. Runs before this process creates its own, so a file with
 * its pid is from an earlier process: pids repeat in containers.
 */
export async function removeLeftovers(fs: DiskFs, folder: string, pid: number): Promise<number> {
  const now = await fileSystemTime(fs, folder, pid);
  let removed = 0;
  for (const name of await fs.readdir(folder)) {
    const path = join(folder, name);
    const modifiedAt = (await readModifiedAt(fs, path)) ?? now;
    if (!isDead(name, pid) && now - modifiedAt <= abandonedMs) continue;
    await fs.rm(path, { force: true });
    removed++;
  }
  return removed;
}

function isDead(name: string, pid: number): boolean {
  const [, fileHost, filePid] = /^(.*)\.(\d+)\.\d+$/.exec(name) ?? [];
  if (fileHost !== host) return false;
  return Number(filePid) === pid || !isAlive(Number(filePid));
}

function isAlive(pid: number): boolean {
  try {
    return kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** Time by the clock of the modification times. Fails if the folder is not writable. */
async function fileSystemTime(fs: DiskFs, folder: string, pid: number): Promise<number> {
  const path = join(folder, temporaryName(pid, 0));
  await fs.rm(path, { force: true });
  const handle = await fs.open(path, 'wx', 0o600);
  try {
    return (await handle.stat()).mtimeMs;
  } finally {
    await handle.close();
    await fs.rm(path, { force: true });
  }
}
