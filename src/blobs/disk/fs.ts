import type * as nodeFs from 'node:fs/promises';

/** The part of the file system that blobs need; tests pass one that fails. */
export type DiskFs = Pick<
  typeof nodeFs,
  'open' | 'rename' | 'mkdir' | 'rm' | 'stat' | 'readdir' | 'readFile' | 'utimes'
>;
