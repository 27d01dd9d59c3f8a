import { openAsBlob, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { CliError } from './exit-codes.ts';

/** Absolute path of an existing file. */
export function existingFile(path: string, cwd: string): string {
  const full = resolve(cwd, path);
  const stats = statSync(full, { throwIfNoEntry: false });
  if (stats === undefined) throw new CliError(`File not found: ${path}.`);
  if (!stats.isFile()) throw new CliError(`${path} is not a file.`);
  return full;
}

/** Blob of a file, which is uploaded without reading it into memory. */
export function openBlob(path: string): Promise<Blob> {
  return openAsBlob(path, { type: 'application/jsonl' });
}
