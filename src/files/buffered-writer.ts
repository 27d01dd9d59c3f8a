import type { BlobWriter } from '../blobs/blobs.ts';

/** Block size: every write wakes a thread, so that larger blocks make an upload a tenth cheaper. */
const blockBytes = 256 * 1024;

/**
 * Writer that copies small pieces into large blocks, and fills one block while another is written. An error is thrown by a later
 * call, at the latest by `commit`.
 */
export function bufferedWriter(writer: BlobWriter): BlobWriter {
  let block: Buffer | undefined;
  let spare: Buffer | undefined;
  let filled = 0;
  let writing: Promise<void> | undefined;

  async function flush(): Promise<void> {
    await writing;
    if (!block || filled === 0) return;
    writing = writer.write(block.subarray(0, filled));
    // Awaited before the next write; until then, a rejection must not count as unhandled.
    writing.catch(() => {});
    [block, spare] = [spare, block];
    filled = 0;
  }

  return {
    /** Bytes of both blocks. */
    get bufferedBytes() {
      return (block?.length ?? 0) + (spare?.length ?? 0) + writer.bufferedBytes;
    },
    async write(chunk) {
      for (let from = 0; from < chunk.length;) {
        block ??= Buffer.allocUnsafeSlow(blockBytes);
        const piece = chunk.subarray(from, from + blockBytes - filled);
        block.set(piece, filled);
        filled += piece.length;
        from += piece.length;
        if (filled === blockBytes) await flush();
      }
    },
    async commit() {
      await flush();
      await writing;
      await writer.commit();
    },
    async abort() {
      await writing?.catch(() => {});
      await writer.abort();
    },
  };
}
