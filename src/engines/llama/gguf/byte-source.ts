import { type FileHandle, open } from 'node:fs/promises';

/** Bytes that can be read anywhere: a file, or what a server gives range by range. */
export interface ByteSource {
  /** Fewer bytes than asked for only at the end. */
  read(offset: number, length: number): Promise<Buffer>;
}

function fileBytes(handle: FileHandle): ByteSource {
  return {
    async read(offset, length) {
      const buffer = Buffer.alloc(length);
      let filled = 0;
      while (filled < length) {
        const { bytesRead } = await handle.read(buffer, filled, length - filled, offset + filled);
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
      return buffer.subarray(0, filled);
    },
  };
}

/** Opens a file for as long as `use` takes. */
export async function withFile<T>(path: string, use: (bytes: ByteSource) => Promise<T>): Promise<T> {
  const handle = await open(path, 'r');
  try {
    return await use(fileBytes(handle));
  } finally {
    await handle.close();
  }
}
