import { crc32 } from 'node:zlib';
import type { Blobs } from '../../blobs/blobs.ts';
import type { LineRef } from '../../core/batch.ts';
import { BlobError, isBlobLost } from '../../core/blob-error.ts';
import { type BatchLine, readLine } from '../../wire/batch/read-line.ts';

/** Reads the lines of one chunk. What was read ahead waits for no disk (`read-ahead.ts`). */
export class ChunkLines {
  #blobs: Blobs;
  #blob: string;
  #ahead = new Map<number, Uint8Array>();
  /** What those are views of, and nobody else has. */
  #memory: ArrayBuffer | null = null;
  /** Resolves when what is being read ahead is there, or cannot be had. */
  #coming: Promise<void> | null = null;

  constructor(blobs: Blobs, blob: string) {
    this.#blobs = blobs;
    this.#blob = blob;
  }

  /** Bytes that were read ahead, and not sent and answered yet. */
  get bytesAhead(): number {
    let bytes = 0;
    for (const line of this.#ahead.values()) bytes += line.length;
    return bytes;
  }

  ahead(line: number): Uint8Array | undefined {
    return this.#ahead.get(line);
  }

  /** Whoever wants a line before that resolves waits for it, and does not read the line a second time. */
  expectAhead(coming: Promise<void>): void {
    this.#coming = coming;
  }

  /** Copies lines that were read before they are asked for: what is read together may be lines of several chunks. */
  storeAhead(read: readonly { line: number; bytes: Uint8Array }[]): void {
    const all = new Uint8Array(read.reduce((sum, { bytes }) => sum + bytes.length, 0));
    let at = 0;
    for (const { line, bytes } of read) {
      all.set(bytes, at);
      this.#ahead.set(line, all.subarray(at, (at += bytes.length)));
    }
    this.#memory = all.buffer;
  }

  /** @throws BlobError `damaged` also where the bytes are not the line that was stored */
  async read(ref: LineRef): Promise<BatchLine> {
    if (this.#coming && !this.ahead(ref.line)) await this.#coming;
    const bytes = this.ahead(ref.line) ?? (await this.#blobs.slice(this.#blob, ref.offset, ref.length));
    try {
      if (ref.sum !== undefined && crc32(bytes) !== ref.sum) throw new Error('Its checksum is wrong.');
      return readLine(bytes);
    } catch (error) {
      throw new BlobError(
        'damaged',
        `Line ${ref.line + 1} of the blob ${this.#blob} is not what was stored.`,
        'Restore the files from a backup.',
        { cause: error },
      );
    }
  }

  /**
   * The line is done; its bytes may go. With the last they are gone at once: they lay there for so long that the garbage
   * collector takes them for old, and would look at them only when tens of megabytes more are.
   */
  forget(line: number): void {
    if (!this.#ahead.delete(line) || this.#ahead.size > 0) return;
    this.#memory?.transfer(0);
    this.#memory = null;
  }
}

/** What a batch is told whose input is lost; null where it may be readable later. */
export function lostInputMessage(error: unknown): string | null {
  if (!isBlobLost(error)) return null;
  return error.code === 'missing' ? 'The input file is gone.' : 'The input file is damaged.';
}
