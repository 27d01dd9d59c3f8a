import type { LineOutcome } from '../../core/line.ts';

/** Outcome of a line, with the place of its result in the result file. */
export interface PlacedOutcome extends LineOutcome {
  offset: number;
  length: number;
}

/** Members of a row, in their order. */
const columns = [
  ...(['line', 'offset', 'length', 'code', 'model'] as const),
  ...(['inputTokens', 'cachedTokens', 'outputTokens', 'attempts', 'run'] as const),
] satisfies (keyof PlacedOutcome)[];

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Row of the index of a result file, which has a row per result, in the same order: the values of `columns` as a JSON array. */
export function encodeIndexRow(outcome: PlacedOutcome): Uint8Array {
  return encoder.encode(`${JSON.stringify(columns.map((column) => outcome[column]))}\n`);
}

/** @throws SyntaxError or TypeError if the bytes are not a row */
export function decodeIndexRow(bytes: Uint8Array): PlacedOutcome {
  const row = JSON.parse(decoder.decode(bytes)) as unknown[];
  return Object.fromEntries(columns.map((column, at) => [column, row[at]])) as unknown as PlacedOutcome;
}
