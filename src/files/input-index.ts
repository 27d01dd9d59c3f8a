import type { LineRef } from '../core/batch.ts';

export { prefixLevels } from './prefix-hashes.ts';

/**
 * What planning knows of each request of an input file without reading it again (batch-engine.md, "From upload to
 * chunks"), as parallel arrays with one entry a request.
 */
export interface InputIndex {
  count: number;
  /** Distinct model names as the lines spell them. */
  models: string[];
  /** Byte offset of the line in the blob, and its length without the newline. */
  offset: Float64Array;
  length: Uint32Array;
  /** CRC-32 of the bytes of each line; absent from an index that was stored before there were any. */
  sum?: Uint32Array;
  /** Index into `models`. */
  model: Uint16Array;
  /** Estimated tokens: bytes / 4 + min(max_tokens, 512). */
  est: Uint32Array;
  /** `prefixLevels` cumulative hashes a line, one line's levels after the other's; 0 where the prompt is shorter. */
  hashes: Uint32Array;
}

/** Where a line stands; one that is past the end of the index is empty. */
export function lineRefAt({ offset, length, sum }: InputIndex, line: number): LineRef {
  return { line, offset: offset[line] ?? 0, length: length[line] ?? 0, ...(sum && { sum: sum[line]! }) };
}
