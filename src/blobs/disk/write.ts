import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { DiskFs } from './fs.ts';

/** A file that nobody knows of yet. */
export interface Spool {
  path: string;
  handle: FileHandle;
}

/** The system may take less than it was given. */
export async function writeAll(handle: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.byteLength;) {
    const { bytesWritten } = await handle.write(chunk, at, chunk.byteLength - at);
    at += bytesWritten;
  }
}

export async function discard(fs: DiskFs, { path, handle }: Spool): Promise<void> {
  await handle.close().catch(() => {});
  await fs.rm(path, { force: true });
}

/** A new name is durable when its folder is flushed. */
export async function flushFolder(fs: DiskFs, path: string): Promise<void> {
  const handle = await fs.open(path, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
