import { existsSync, openAsBlob, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { makeFolder } from '../../base/make-folder.ts';
import { CliError } from './exit-codes.ts';

/** The absolute path of a file that is there. */
export function existingFile(path: string, cwd: string): string {
  const full = resolve(cwd, path);
  const stats = statSync(full, { throwIfNoEntry: false });
  if (stats === undefined) throw new CliError(`There is no file ${path}.`);
  if (!stats.isFile()) throw new CliError(`${path} is not a file.`);
  return full;
}

/** The absolute path of a file to write, in a folder that is there. Nothing is overwritten without `force`. */
export async function newFile(path: string, cwd: string, force = false): Promise<string> {
  const full = resolve(cwd, path);
  if (existsSync(full) && !force)
    throw new CliError(`${path} is there already.`, 'Pass --force to overwrite it.');
  await makeFolder(dirname(full));
  return full;
}

/** A file as something that can be uploaded without reading it into memory. */
export function openBlob(path: string): Promise<Blob> {
  return openAsBlob(path, { type: 'application/jsonl' });
}
