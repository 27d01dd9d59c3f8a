import { skipLines } from '../../base/byte-lines.ts';
import { lostBlob } from '../../core/blob-error.ts';
import { type Batch, isFinal, type ResultStream } from '../../core/batch.ts';
import { ApiError } from '../../core/errors.ts';
import type { StoredFile } from '../../core/file.ts';
import type { Files } from '../../files/files.ts';
import type { Store } from '../../store/store.ts';
import type { PageSize, ResultRow } from '../../store/contract/results.ts';
import type { ResultLines } from '../batches.ts';

/** Size of the read before the answer begins. */
const firstPage: PageSize = { rows: 500, bytes: 64 << 10 };
/** Memory limit for the pages of all readers, however slow their clients are; a single result may exceed it. */
const maxTotalBytes = 64 << 20;
const maxPageBytes = 1 << 20;
/** Pages in memory per reader: one is sent while the next one waits. */
const pagesEach = 2;
const newline = Uint8Array.of(0x0a);

export interface ResultsDeps {
  store: Store;
  files: Pick<Files, 'read'>;
  readers: ResultReaders;
}

/** Counts the readers of result rows: the more there are, the smaller their pages. */
export class ResultReaders {
  #reading = 0;

  page(): PageSize {
    const share = Math.floor(maxTotalBytes / pagesEach / Math.max(1, this.#reading));
    return { ...firstPage, bytes: Math.min(maxPageBytes, share) };
  }

  async *counted(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    this.#reading++;
    try {
      yield* bytes;
    } finally {
      this.#reading--;
    }
  }
}

/**
 * Result lines `after < n <= last` of a stream, where `last` is the number committed now. They come from rows while the batch
 * runs, and from the result file later; the bytes are the same (batch-engine.md, "Live tail").
 */
export async function readResults(
  deps: ResultsDeps,
  batch: Batch,
  stream: ResultStream,
  after: number,
): Promise<ResultLines> {
  const committed = stream === 'output' ? batch.ok : batch.err;
  const last = Math.max(after, committed);
  const range: Range = { batchId: batch.id, stream, after, last };
  const file = isFinal(batch.status) && after === 0 ? await resultFileOf(deps, batch, stream) : null;
  return {
    status: batch.status,
    incomplete: !isFinal(batch.status),
    lastLine: last,
    file,
    async read(part) {
      if (file && part) return deps.files.read(file, part);
      if (file) return fromFile({ file, bytes: await deps.files.read(file) }, range);
      return committed > after ? begin(deps, range) : empty();
    },
  };
}

/** Result file of a stream; null if the stream is empty. @throws ApiError `not_found` if it was deleted or has expired */
export async function resultFileOf(
  { store }: { store: Pick<Store, 'files'> },
  { outputFileId, errorFileId }: Pick<Batch, 'outputFileId' | 'errorFileId'>,
  stream: ResultStream,
): Promise<StoredFile | null> {
  const id = stream === 'output' ? outputFileId : errorFileId;
  if (id === null) return null;
  const file = await store.files.find(id);
  if (!file) throw fileGone(stream);
  return file;
}

function fileGone(stream: ResultStream): ApiError {
  return new ApiError(
    'not_found',
    `The ${stream} file of this batch is gone: it was deleted or has expired.`,
  );
}

/** Lines `after < n <= last` of one stream. */
interface Range {
  batchId: string;
  stream: ResultStream;
  after: number;
  last: number;
}

async function* empty(): AsyncGenerator<Uint8Array> {}

/** Reads the first page before the answer begins, because a later error can only break the answer off. */
async function begin(deps: ResultsDeps, range: Range): Promise<AsyncIterable<Uint8Array>> {
  const rows = await nextRows(deps, range, firstPage);
  if (!rows) return fromFile(await openFile(deps, range), range);
  return deps.readers.counted(fromRows(deps, range, rows));
}

async function* fromRows(
  deps: ResultsDeps,
  range: Range,
  rows: ResultRow[] | undefined,
): AsyncGenerator<Uint8Array> {
  for (let { after } = range; ;) {
    const rest: Range = { ...range, after };
    rows ??= await nextRows(deps, rest, deps.readers.page());
    if (!rows) return yield* fromFile(await openFile(deps, rest), rest);
    const lines = Buffer.concat(rows.flatMap((row) => [row.body, newline]));
    after = rows.at(-1)!.n;
    // A page is free while a slow client takes the lines.
    rows = undefined;
    yield lines;
    if (after >= range.last) return;
  }
}

/** Next rows; undefined if they have been deleted, from the front, because the result file exists. */
async function nextRows(
  { store }: ResultsDeps,
  { batchId, stream, after, last }: Range,
  page: PageSize,
): Promise<ResultRow[] | undefined> {
  const size = { ...page, rows: Math.min(page.rows, last - after) };
  const rows = await store.results.tail(batchId, stream, after, size);
  return rows[0]?.n === after + 1 ? rows : undefined;
}

interface ResultFile {
  file: StoredFile;
  bytes: AsyncIterable<Uint8Array>;
}

async function openFile(deps: ResultsDeps, { batchId, stream }: Range): Promise<ResultFile> {
  const batch = await deps.store.batches.find(batchId);
  const file = batch && (await resultFileOf(deps, batch, stream));
  if (!file) throw fileGone(stream);
  return { file, bytes: await deps.files.read(file) };
}

/** Lines of a range of the result file, which may have more. It is read to its end, because only that verifies it. */
async function* fromFile({ file, bytes }: ResultFile, { after, last }: Range): AsyncGenerator<Uint8Array> {
  let line = 0;
  for await (const chunk of bytes) {
    const skipped = skipLines(chunk, 0, after - line);
    line += skipped.lines;
    if (line < after) continue;
    const taken = skipLines(chunk, skipped.end, last - line);
    line += taken.lines;
    if (taken.end > skipped.end) yield chunk.subarray(skipped.end, taken.end);
  }
  if (line < last)
    throw lostBlob(
      'damaged',
      `The content of ${file.id} (${file.blobId}) has ${line} lines instead of at least ${last}.`,
    );
}
