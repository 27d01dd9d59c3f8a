import { type Batch, isFinal } from '../../core/batch.ts';
import type { Blobs } from '../../blobs/blobs.ts';
import type { Files } from '../../files/files.ts';
import { lineRefAt } from '../../files/input-index.ts';
import type { LineMark } from '../../store/contract/results.ts';
import type { Store } from '../../store/store.ts';
import type { FinishedResults, LineResult } from './finished-results.ts';

/** Lines of a batch: its input, and the results so far. */
export interface LineSource {
  batch: Batch;
  /** Marks of the lines from `from` up to `to`, exclusive; undefined for lines without a result. */
  marks(from: number, to: number): Promise<(LineMark | undefined)[]>;
  results(lines: readonly number[]): Promise<Map<number, LineResult>>;
  isInFlight(line: number): boolean;
  /** Name of the line's model; null if the input is gone. */
  modelOf(line: number): string | null;
  /** Length of the input line; 0 if the input is gone. */
  bytesOf(line: number): number;
  /** Input lines, or undefined for each where the input is gone. */
  input(lines: readonly number[]): Promise<(Uint8Array | undefined)[]>;
}

export interface LineSourceDeps {
  store: Pick<Store, 'batches' | 'files' | 'results'>;
  blobs: Pick<Blobs, 'slices'>;
  files: Pick<Files, 'index'>;
  finished: FinishedResults;
}

/**
 * Opens the lines of a batch. Results come from rows until the batch ends, and then from its files.
 * @throws ApiError `not_found` if a result file of a finished batch is gone
 */
export async function openLines(deps: LineSourceDeps, batch: Batch): Promise<LineSource> {
  const input = await openInput(deps, batch);
  const results = isFinal(batch.status) ? await finishedLines(deps, batch) : await runningLines(deps, batch);
  return { batch, ...input, ...results };
}

type Input = Pick<LineSource, 'modelOf' | 'bytesOf' | 'input'>;
type Results = Pick<LineSource, 'marks' | 'results' | 'isInFlight'>;

async function openInput({ store, blobs, files }: LineSourceDeps, batch: Batch): Promise<Input> {
  const file = await store.files.find(batch.inputFileId);
  const index = file && (await files.index(file));
  if (!file || !index)
    return {
      modelOf: () => batch.model,
      bytesOf: () => 0,
      input: async (lines) => lines.map(() => undefined),
    };
  return {
    modelOf: (line) => index.models[index.model[line] ?? 0] ?? null,
    bytesOf: (line) => index.length[line] ?? 0,
    input: (lines) =>
      blobs.slices(
        file.blobId,
        lines.map((line) => lineRefAt(index, line)),
      ),
  };
}

async function runningLines(deps: LineSourceDeps, batch: Batch): Promise<Results> {
  const { results } = deps.store;
  const inFlight = new Set(await results.inFlight(batch.id));
  let ended: Results | undefined;
  /** Reads rows, or the files if the batch has ended meanwhile: then the rows may be gone. */
  const read = async <T>(fromRows: () => Promise<T>, fromFiles: (files: Results) => Promise<T>) => {
    if (!ended) {
      const found = await fromRows();
      const now = await deps.store.batches.find(batch.id);
      if (!now || !isFinal(now.status)) return found;
      ended = await finishedLines(deps, now);
    }
    return fromFiles(ended);
  };
  return {
    isInFlight: (line) => inFlight.has(line),
    marks: (from, to) =>
      read(
        async () => {
          const marks = new Map((await results.marks(batch.id, from, to)).map((mark) => [mark.line, mark]));
          return Array.from({ length: to - from }, (_, at) => marks.get(from + at));
        },
        (files) => files.marks(from, to),
      ),
    results: (lines) =>
      read(
        async () => new Map((await results.ofLines(batch.id, lines)).map((row) => [row.line, row])),
        (files) => files.results(lines),
      ),
  };
}

async function finishedLines({ finished }: LineSourceDeps, batch: Batch): Promise<Results> {
  const places = await finished.of(batch);
  return {
    isInFlight: () => false,
    marks: async (from, to) => Array.from({ length: to - from }, (_, at) => places.mark(from + at)),
    results: (lines) => places.read(lines),
  };
}
