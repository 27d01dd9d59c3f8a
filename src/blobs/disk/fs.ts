import type * as nodeFs from 'node:fs/promises';

/** File system functions that blobs use; tests pass failing ones. */
export type DiskFs = Pick<
  typeof nodeFs,
  'open' | 'rename' | 'mkdir' | 'rm' | 'stat' | 'readdir' | 'readFile' | 'utimes'
>;
