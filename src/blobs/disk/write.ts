import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { BlobWriter } from '../blobs.ts';
import type { DiskFs } from './fs.ts';
import { guarded } from './faults.ts';

/** A file that nobody knows of yet. */
export interface Spool {
  path: string;
  handle: FileHandle;
}

/** @param publish moves the flushed file to its name, durably */
export function createWriter(fs: DiskFs, spool: Spool, publish: () => Promise<void>): BlobWriter {
  let state: 'open' | 'committed' | 'gone' = 'open';

  /** A fault leaves nothing behind, whether or not the caller aborts. */
  const orDiscard = (work: () => Promise<void>) =>
    guarded(async () => {
      if (state !== 'open') throw new Error('The blob was committed, aborted or failed already.');
      try {
        await work();
      } catch (error) {
        state = 'gone';
        await discard(fs, spool);
        throw error;
      }
    });

  return {
    held: 0,
    write: (chunk) => orDiscard(() => writeAll(spool.handle, chunk)),
    commit: () =>
      orDiscard(async () => {
        await spool.handle.sync();
        await spool.handle.close();
        await publish();
        state = 'committed';
      }),
    async abort() {
      if (state !== 'open') return;
      state = 'gone';
      await discard(fs, spool);
    },
  };
}

/** The system may take less than it was given. */
async function writeAll(handle: FileHandle, chunk: Uint8Array): Promise<void> {
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
