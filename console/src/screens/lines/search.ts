import { lineStates, type LineState } from '../../../../src/core/line.ts';

/** State of the lines of a batch that a link shares. */
export interface LinesSearch {
  state?: LineState;
  /** Error code. */
  code?: string;
  /** Text in the custom_id, the request or the answer. */
  q?: string;
  /** Number of the open line. */
  line?: number;
  /** Number of random lines, and the seed that repeats them. */
  sample?: number;
  seed?: number;
  view?: 'table';
}

const maxSample = 200;

/** Reads the search parameters of an address; others, and invalid ones, are dropped. */
export function linesSearch(given: Record<string, unknown>): LinesSearch {
  const state = lineStates.find((known) => known === given['state']);
  const code = text(given['code']);
  const q = text(given['q']);
  const line = whole(given['line'], 1, 999_999_999);
  const sample = whole(given['sample'], 1, maxSample);
  const seed = whole(given['seed'], 0, 0xff_ff_ff_ff);
  return {
    ...(state && { state }),
    ...(code !== undefined && { code }),
    // A sample has no text to search for.
    ...(q !== undefined && sample === undefined && { q }),
    ...(line !== undefined && { line }),
    ...(sample !== undefined && { sample }),
    ...(sample !== undefined && seed !== undefined && { seed }),
    ...(given['view'] === 'table' && { view: 'table' }),
  };
}

function text(value: unknown): string | undefined {
  const given = typeof value === 'number' ? String(value) : value;
  return typeof given === 'string' && given.trim() !== '' ? given.slice(0, 200) : undefined;
}

function whole(value: unknown, min: number, max: number): number | undefined {
  const number = Number(value);
  const isText = typeof value === 'string' || typeof value === 'number';
  return isText && Number.isInteger(number) && number >= min && number <= max ? number : undefined;
}

/** Search of an operator, who sees no texts. */
export function withoutTexts(search: LinesSearch): LinesSearch {
  const { q: _, view: __, ...rest } = search;
  return rest;
}
