import { openAsBlob, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { CliError } from './exit-codes.ts';

/** The absolute path of a file that is there. */
export function existingFile(path: string, cwd: string): string {
  const full = resolve(cwd, path);
  const stats = statSync(full, { throwIfNoEntry: false });
  if (stats === undefined) throw new CliError(`There is no file ${path}.`);
  if (!stats.isFile()) throw new CliError(`${path} is not a file.`);
  return full;
}

/** A file as something that can be uploaded without reading it into memory. */
export function openBlob(path: string): Promise<Blob> {
  return openAsBlob(path, { type: 'application/jsonl' });
}
