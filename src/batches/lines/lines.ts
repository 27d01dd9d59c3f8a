import { crc32 } from 'node:zlib';
import type { BlobPlace, Blobs } from '../../blobs/blobs.ts';
import type { LineRef } from '../../core/batch.ts';
import { BlobError, isBlobLost } from '../../core/blob-error.ts';
import { type BatchLine, readLine } from '../../wire/batch/read-line.ts';

/** Chunks up to this many bytes are read ahead when they are claimed; longer ones line by line. */
const readAheadBytes = 4 * 1024 * 1024;
/** Lines closer than this are fetched in one read. */
const gapBytes = 64 * 1024;

const decoder = new TextDecoder();

/** Reads the lines of one chunk: ahead where that is cheap, so that sending a line waits for no disk. */
export class ChunkLines {
  #blobs: Blobs;
  #blob: string;
  #ahead = new Map<number, Uint8Array>();

  constructor(blobs: Blobs, blob: string) {
    this.#blobs = blobs;
    this.#blob = blob;
  }

  /** Fetches what fits the read-ahead. A failing read is left to `read`, which reports it. */
  async prefetch(refs: readonly LineRef[]): Promise<void> {
    const total = refs.reduce((sum, ref) => sum + ref.length, 0);
    if (total > readAheadBytes) return;
    const runs = neighbours(refs);
    const read = await this.#blobs.slices(this.#blob, runs.map(placeOf));
    for (const [at, run] of runs.entries()) {
      const start = run[0]!.offset;
      for (const ref of run)
        this.#ahead.set(ref.line, read[at]!.subarray(ref.offset - start, ref.offset - start + ref.length));
    }
  }

  /** @throws BlobError `damaged` also where the bytes are not the line that was stored */
  async read(ref: LineRef): Promise<BatchLine> {
    const bytes = this.#ahead.get(ref.line) ?? (await this.#blobs.slice(this.#blob, ref.offset, ref.length));
    try {
      if (ref.sum !== undefined && crc32(bytes) !== ref.sum) throw new Error('Its checksum is wrong.');
      return readLine(decoder.decode(bytes));
    } catch (error) {
      throw new BlobError(
        'damaged',
        `Line ${ref.line + 1} of the blob ${this.#blob} is not what was stored.`,
        'Restore the data folder from a backup.',
        { cause: error },
      );
    }
  }

  /** The line is done; its bytes may go. */
  forget(line: number): void {
    this.#ahead.delete(line);
  }
}

/** What a batch is told whose input is lost; null where it may be readable later. */
export function inputFault(error: unknown): string | null {
  if (!isBlobLost(error)) return null;
  return error.code === 'missing' ? 'The input file is gone.' : 'The input file is damaged.';
}

function placeOf(run: readonly LineRef[]): BlobPlace {
  const last = run.at(-1)!;
  const { offset } = run[0]!;
  return { offset, length: last.offset + last.length - offset };
}

function neighbours(refs: readonly LineRef[]): LineRef[][] {
  const sorted = refs.toSorted((a, b) => a.offset - b.offset);
  const runs: LineRef[][] = [];
  for (const ref of sorted) {
    const last = runs.at(-1)?.at(-1);
    if (last && ref.offset - (last.offset + last.length) < gapBytes) runs.at(-1)!.push(ref);
    else runs.push([ref]);
  }
  return runs;
}
