import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { DiskFs } from './fs.ts';

/** Temporary file of an uncommitted blob. */
export interface Spool {
  path: string;
  handle: FileHandle;
}

/** Repeats short writes. */
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

/** Makes new names in a folder durable. */
export async function flushFolder(fs: DiskFs, path: string): Promise<void> {
  const handle = await fs.open(path, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
