import type { LineRef } from '../core/batch.ts';

export { prefixLevels } from './prefix-hashes.ts';

/** Index of an input file, for planning without reading it (batch-engine.md, "From upload to chunks"): arrays with an entry per request. */
export interface InputIndex {
  count: number;
  /** Distinct model names as the lines spell them. */
  models: string[];
  /** Byte offset of the line in the blob, and its length without the newline. */
  offset: Float64Array;
  length: Uint32Array;
  /** CRC-32 of each line; absent from indexes of version 1. */
  sum?: Uint32Array;
  /** Index into `models`. */
  model: Uint16Array;
  /** Estimated tokens: bytes / 4 + min(max_tokens, 512). */
  est: Uint32Array;
  /** `prefixLevels` cumulative hashes per line, line after line; 0 where the prompt is shorter. */
  hashes: Uint32Array;
}

/** Position of a line; empty past the end of the index. */
export function lineRefAt({ offset, length, sum }: InputIndex, line: number): LineRef {
  return { line, offset: offset[line] ?? 0, length: length[line] ?? 0, ...(sum && { sum: sum[line]! }) };
}
