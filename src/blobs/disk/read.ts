import type { FileHandle } from 'node:fs/promises';
import { truncatedBlob, withBlobErrors } from './faults.ts';

const chunkBytes = 256 * 1024;

/**
 * Reads from `start` to `end` in chunks, then closes the file. Not a generator: a generator that was never started would
 * leave the file open when its reader returns early.
 */
export function readRange(
  handle: FileHandle,
  name: string,
  start: number,
  end: number,
): AsyncIterable<Uint8Array> {
  let at = start;
  let closed = false;
  const close = async (): Promise<IteratorResult<Uint8Array>> => {
    if (!closed) {
      closed = true;
      await handle.close();
    }
    return { done: true, value: undefined };
  };
  const next = async (): Promise<IteratorResult<Uint8Array>> => {
    const length = Math.min(chunkBytes, end - at);
    if (closed || length <= 0) return close();
    try {
      const { bytesRead, buffer } = await withBlobErrors(() =>
        handle.read(new Uint8Array(length), 0, length, at),
      );
      if (bytesRead === 0) throw truncatedBlob(name, at, end);
      at += bytesRead;
      return { done: false, value: buffer.subarray(0, bytesRead) };
    } catch (error) {
      await close();
      throw error;
    }
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: close }) };
}

/** Reads exactly `length` bytes. */
export async function readSlice(
  handle: FileHandle,
  name: string,
  offset: number,
  length: number,
): Promise<Uint8Array> {
  const bytes = Buffer.allocUnsafeSlow(length);
  for (let at = 0; at < length;) {
    const { bytesRead } = await handle.read(bytes, at, length - at, offset + at);
    if (bytesRead === 0) throw truncatedBlob(name, offset + at, offset + length);
    at += bytesRead;
  }
  return bytes;
}
