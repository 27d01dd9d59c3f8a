import type { LineOutcome } from '../../core/line.ts';

/** Outcome of a line, with the place of its result in the result file. */
export interface PlacedOutcome extends LineOutcome {
  offset: number;
  length: number;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * Row of the index of a result file, which has a row per result, in the same order. It says what the result itself does not:
 * `[line, offset, length, code, model, input tokens, cached tokens, output tokens, attempts, run]` as JSON.
 */
export function encodeIndexRow({ line, offset, length, code, ...rest }: PlacedOutcome): Uint8Array {
  const { model, inputTokens, cachedTokens, outputTokens, attempts, run } = rest;
  const row = [line, offset, length, code, model, inputTokens, cachedTokens, outputTokens, attempts, run];
  return encoder.encode(`${JSON.stringify(row)}\n`);
}

type Row = [
  number,
  number,
  number,
  string | null,
  string,
  number,
  number,
  number,
  number,
  LineOutcome['run'],
];

/** @throws SyntaxError or TypeError if the bytes are not a row */
export function decodeIndexRow(bytes: Uint8Array): PlacedOutcome {
  const [line, offset, length, code, model, inputTokens, cachedTokens, outputTokens, attempts, run] =
    JSON.parse(decoder.decode(bytes)) as Row;
  return { line, offset, length, code, model, inputTokens, cachedTokens, outputTokens, attempts, run };
}
