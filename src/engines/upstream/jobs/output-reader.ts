import type { Line } from '../../../base/byte-lines.ts';
import { splitLines } from '../../../base/byte-lines.ts';
import { type Clock, sleep } from '../../../base/clock.ts';
import type { JobStorage } from './storage/job-storage.ts';

const readBytes = 1024 * 1024;
/** Longest line; a longer one is skipped. */
const maxLineBytes = 64 * 1024 * 1024;
/**
 * Bytes read before a pause, and its length: at most 16 MiB a second, so that the results of a finished job arrive no faster than
 * they are recorded, and few of them wait in memory.
 */
const burst = { bytes: 4 * 1024 * 1024, pauseMs: 250 } as const;

/** Position in a part of the output. */
interface Position {
  /** Start of the first line that was not read. */
  offset: number;
  /** True while the rest of a line that is too long is skipped. */
  isSkipping: boolean;
}

/** Reads the results of a job as its parts grow. */
export class OutputReader {
  readonly #storage: JobStorage;
  readonly #job: string;
  readonly #clock: Clock;
  readonly #positions = new Map<string, Position>();
  #sincePause = 0;

  constructor(storage: JobStorage, job: string, clock: Clock) {
    this.#storage = storage;
    this.#job = job;
    this.#clock = clock;
  }

  /**
   * Yields the new lines of all parts.
   * @param hasEnded true once the job has ended: the last line of a part needs no newline then
   */
  async *lines(hasEnded: boolean, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    for (const { name, size } of await this.#storage.parts(this.#job)) {
      const at = this.#positions.get(name) ?? { offset: 0, isSkipping: false };
      // A part that was written anew is read anew.
      if (size < at.offset) Object.assign(at, { offset: 0, isSkipping: false });
      this.#positions.set(name, at);
      while (at.offset < size && !signal.aborted) {
        const before = at.offset;
        yield* this.#read(name, at, hasEnded);
        if (at.offset === before) break;
      }
    }
  }

  /** Reads one block of whole lines, or one longer line. */
  async *#read(name: string, at: Position, hasEnded: boolean): AsyncGenerator<Uint8Array> {
    const start = at.offset;
    const pieces: Buffer[] = [];
    let length = 0;
    let isEnd = false;
    for (let hasLine = false; !hasLine && !isEnd && length < maxLineBytes;) {
      const piece = await this.#storage.read(this.#job, name, start + length, readBytes);
      isEnd = !piece || piece.length < readBytes;
      if (!piece || piece.length === 0) break;
      pieces.push(piece);
      length += piece.length;
      hasLine = piece.includes(0x0a);
    }
    await this.#pace(length);
    let last: Line | undefined;
    for await (const line of splitLines(inTurn(pieces))) {
      last = line;
      if (!line.whole && !(hasEnded && isEnd)) break;
      at.offset = start + line.offset + line.bytes.length + (line.whole ? 1 : 0);
      if (!at.isSkipping) yield line.bytes;
      at.isSkipping = false;
    }
    if (at.offset === start && last && length >= maxLineBytes) {
      at.offset += length;
      at.isSkipping = true;
    }
  }

  async #pace(bytes: number): Promise<void> {
    this.#sincePause += bytes;
    if (this.#sincePause < burst.bytes) return;
    this.#sincePause = 0;
    await sleep(this.#clock, burst.pauseMs);
  }
}

async function* inTurn(pieces: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* pieces;
}
