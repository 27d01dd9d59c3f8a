import { crc32 } from 'node:zlib';
import { sum } from '../../base/sum.ts';
import type { LineRef } from '../../core/batch.ts';
import { isBlobLost, lostBlob } from '../../core/blob-error.ts';
import { type BatchLine, readLine } from '../../wire/batch/read-line.ts';
import type { LineInput } from './line-input.ts';

/** Limit for all claimed chunks together; lines beyond it are read one by one as they are sent. */
const maxBytesAhead = 16 * 1024 * 1024;

/** Reads the lines of one chunk, from memory if they were read ahead (`readAhead`). */
export class ChunkLines {
  readonly input: LineInput;
  readonly refs: readonly LineRef[];
  #ahead = new Map<number, Uint8Array>();
  /** Buffer of all lines in `#ahead`. */
  #memory: ArrayBuffer | null = null;
  /** Settles when the pending read-ahead has ended. */
  #pending: Promise<void> | null = null;

  constructor(input: LineInput, refs: readonly LineRef[]) {
    this.input = input;
    this.refs = refs;
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

  /** Copies lines that were read ahead, because one read may serve several chunks. @param read bytes of `refs` */
  storeAhead(read: readonly Uint8Array[]): void {
    const all = new Uint8Array(sum(read.map(({ length }) => length)));
    let at = 0;
    for (const [n, { line }] of this.refs.entries()) {
      const bytes = read[n]!;
      all.set(bytes, at);
      this.#ahead.set(line, all.subarray(at, (at += bytes.length)));
    }
    this.#memory = all.buffer;
  }

  /** @throws BlobError `damaged`, including when the bytes are not the stored line */
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

/**
 * Reads the lines of newly claimed chunks, so that sending a line does not wait for the disk. Chunks are cut by prompt prefix
 * and not by position: lines of several chunks are neighbours in the file, and are read together. A line that cannot be read
 * is read again, and reported, when it is sent.
 * @param claimed chunks claimed before
 */
export async function readAhead(
  chunks: readonly ChunkLines[],
  claimed: readonly ChunkLines[] = [],
): Promise<void> {
  let room = maxBytesAhead - sum(claimed.map(({ bytesAhead }) => bytesAhead));
  const fitting = chunks.filter(({ refs }) => {
    const bytes = sum(refs.map(({ length }) => length));
    if (bytes > room) return false;
    room -= bytes;
    return true;
  });
  const byInput = Map.groupBy(fitting, ({ input }) => input.name);
  await Promise.all(
    [...byInput.values()].map((ofInput) => {
      const pending = readTogether(ofInput).catch(() => undefined);
      for (const lines of ofInput) lines.expectAhead(pending);
      return pending;
    }),
  );
}

/** @param chunks of one input */
async function readTogether(chunks: readonly ChunkLines[]): Promise<void> {
  const read = await chunks[0]!.input.read(chunks.flatMap(({ refs }) => refs));
  let at = 0;
  for (const lines of chunks) lines.storeAhead(read.slice(at, (at += lines.refs.length)));
}

/** Error of a batch whose input is lost; null if it may become readable. */
export function lostInputMessage(error: unknown): string | null {
  if (!isBlobLost(error)) return null;
  return error.code === 'missing' ? 'The input file is gone.' : 'The input file is damaged.';
}
