import { isObject } from './fields.ts';

/** Line of a byte stream. */
export interface Line {
  /** Without its newline. */
  bytes: Uint8Array;
  /** Position of the first byte in the stream. */
  offset: number;
  /** False for a last line without a newline. */
  whole: boolean;
}

const newline = 0x0a;

/** Splits at `\n` only. A stream that ends with a newline has no empty last line. */
export async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
  let pending: Uint8Array[] = [];
  let offset = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      const rest = chunk.subarray(start, end);
      // No copy for a line within one chunk.
      const bytes = pending.length === 0 ? rest : Buffer.concat([...pending, rest]);
      pending = [];
      yield { bytes, offset, whole: true };
      offset += bytes.length + 1;
      start = end + 1;
    }
    if (start < chunk.length) pending.push(chunk.subarray(start));
  }
  const bytes = Buffer.concat(pending);
  if (bytes.length > 0) yield { bytes, offset, whole: false };
}

/** Skips `max` lines of a chunk from `start`, or to its end. */
export function skipLines(chunk: Uint8Array, start: number, max: number): { end: number; lines: number } {
  let end = start;
  let count = 0;
  while (count < max) {
    const at = chunk.indexOf(newline, end);
    if (at === -1) return { end: chunk.length, lines: count };
    end = at + 1;
    count++;
  }
  return { end, lines: count };
}

const decoder = new TextDecoder();

/** JSON object on a line; undefined for anything else. Ignores a byte order mark, which some editors write. */
export function parseLine(bytes: Uint8Array): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(decoder.decode(bytes));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
