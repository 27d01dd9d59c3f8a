import { crc32 } from 'node:zlib';
import type { LineRef } from '../../core/batch.ts';
import { isBlobLost, lostBlob } from '../../core/blob-error.ts';
import { type BatchLine, readLine } from '../../wire/batch/read-line.ts';
import type { LineInput } from './line-input.ts';

/** Reads the lines of one chunk, from memory if they were read ahead (`read-ahead.ts`). */
export class ChunkLines {
  readonly input: LineInput;
  #ahead = new Map<number, Uint8Array>();
  /** Buffer of all lines in `#ahead`. */
  #memory: ArrayBuffer | null = null;
  /** Settles when the pending read-ahead has ended. */
  #pending: Promise<void> | null = null;

  constructor(input: LineInput) {
    this.input = input;
  }

  /** Bytes that were read ahead and not answered yet. */
  get bytesAhead(): number {
    let bytes = 0;
    for (const line of this.#ahead.values()) bytes += line.length;
    return bytes;
  }

  ahead(line: number): Uint8Array | undefined {
    return this.#ahead.get(line);
  }

  /** Makes `read` wait for a pending read-ahead instead of reading a line twice. */
  expectAhead(pending: Promise<void>): void {
    this.#pending = pending;
  }

  /** Copies lines that were read ahead, because one read may serve several chunks. */
  storeAhead(read: readonly { line: number; bytes: Uint8Array }[]): void {
    const all = new Uint8Array(read.reduce((sum, { bytes }) => sum + bytes.length, 0));
    let at = 0;
    for (const { line, bytes } of read) {
      all.set(bytes, at);
      this.#ahead.set(line, all.subarray(at, (at += bytes.length)));
    }
    this.#memory = all.buffer;
  }

  /** @throws BlobError `damaged` also if the bytes are not the stored line */
  async read(ref: LineRef): Promise<BatchLine> {
    if (this.#pending && !this.ahead(ref.line)) await this.#pending;
    const bytes = this.ahead(ref.line) ?? (await this.input.read([ref]))[0]!;
    try {
      if (ref.sum !== undefined && crc32(bytes) !== ref.sum) throw new Error('Its checksum is wrong.');
      return readLine(bytes);
    } catch (error) {
      const message = `Line ${ref.line + 1} of ${this.input.name} is not what was stored.`;
      throw lostBlob('damaged', message, { cause: error });
    }
  }

  /**
   * Drops a line that was answered. The last one frees the buffer at once: it is old enough for the garbage collector to
   * leave it until tens of megabytes more are used.
   */
  forget(line: number): void {
    if (!this.#ahead.delete(line) || this.#ahead.size > 0) return;
    this.#memory?.transfer(0);
    this.#memory = null;
  }
}

/** Error of a batch whose input is lost; null if it may become readable. */
export function lostInputMessage(error: unknown): string | null {
  if (!isBlobLost(error)) return null;
  return error.code === 'missing' ? 'The input file is gone.' : 'The input file is damaged.';
}
