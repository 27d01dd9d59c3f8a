import { join } from 'node:path';
import { ApiError } from '../core/errors.ts';
import type { DiskFs } from './disk-fs.ts';

/** A fault of the disk under the blobs, with what an operator can do about it. */
export class BlobError extends Error {
  readonly hint: string;

  constructor(message: string, hint: string, options?: { cause: unknown }) {
    super(message, options);
    this.name = 'BlobError';
    this.hint = hint;
  }
}

/** Names are made by us; anything else would be a way out of the folder. */
export function isName(name: string): boolean {
  return /^blob_[0-9a-f]{32}(\.index)?$/.test(name);
}

/** Where a blob stands: the last digits of an id are random, so the folders fill evenly. */
export function pathOf(folder: string, name: string): string {
  if (!isName(name)) throw new Error(`Not the name of a blob: ${JSON.stringify(name.slice(0, 64))}`);
  return join(folder, name.slice(35, 37), name);
}

export function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ENOENT';
}

function translate(error: unknown): unknown {
  const code = codeOf(error);
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return error;
  return new ApiError('insufficient_storage', 'The disk is full: nothing more can be stored.', {
    cause: error,
  });
}

/** A full disk (or quota) as the client sees it; everything else passes through. */
export async function guarded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw translate(error);
  }
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

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
