import { openAsBlob, statSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { CliError } from './exit-codes.ts';

/** Absolute path of an existing file. */
export function existingFile(path: string, cwd: string): string {
  const full = resolve(cwd, path);
  const stats = statSync(full, { throwIfNoEntry: false });
  if (stats === undefined) throw new CliError(`File not found: ${path}.`);
  if (!stats.isFile()) throw new CliError(`${path} is not a file.`);
  return full;
}

/** Path relative to the current folder, for a path below it. URLs are unchanged. */
export function showPath({ cwd }: { cwd: string }, path: string): string {
  if (path.includes('://')) return path;
  const short = relative(cwd, path);
  return short === '' || short.startsWith('..') ? path : short;
}

/** Blob of a file, which is uploaded without reading it into memory. */
export function openBlob(path: string): Promise<Blob> {
  return openAsBlob(path, { type: 'application/jsonl' });
}
