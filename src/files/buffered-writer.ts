import type { BlobWriter } from '../blobs/blobs.ts';

/** Each write wakes a thread, however little it brings: in larger blocks an upload costs a tenth less. */
const blockBytes = 256 * 1024;

/**
 * A writer that takes small pieces and passes on large ones; one is written while the next is filled. A fault is told by a
 * later call, by `commit` at the latest. The pieces are not kept.
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
    // Awaited before the next one; until then a failure must not count as unhandled.
    writing.catch(() => {});
    [block, spare] = [spare, block];
    filled = 0;
  }

  return {
    /** Of the block being filled, and of the one being written. */
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
