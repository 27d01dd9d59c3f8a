import type { Blobs } from '../blobs/blobs.ts';
import { type Batch, isFinal, type ResultStream } from '../core/batch.ts';
import { ApiError } from '../core/errors.ts';
import type { Store } from '../store/store.ts';
import type { ResultLines } from './batches.ts';

const pageRows = 500;
const newline = Uint8Array.of(0x0a);

export interface ResultsParts {
  store: Store;
  blobs: Blobs;
}

/**
 * Result lines `after < n <= last` of a stream, where `last` is what is committed now: from the rows while the batch runs,
 * from the result file once they are gone. The bytes are the same (batch-engine.md, "Live tail").
 */
export function readResults(
  parts: ResultsParts,
  batch: Batch,
  stream: ResultStream,
  after: number,
): ResultLines {
  const committed = stream === 'output' ? batch.ok : batch.err;
  const last = Math.max(after, committed);
  return {
    status: batch.status,
    incomplete: !isFinal(batch.status),
    lastLine: last,
    bytes: committed > after ? lines(parts, batch, stream, after, committed) : empty(),
  };
}

async function* empty(): AsyncGenerator<Uint8Array> {}

async function* lines(
  parts: ResultsParts,
  batch: Batch,
  stream: ResultStream,
  after: number,
  last: number,
): AsyncGenerator<Uint8Array> {
  let at = after;
  while (at < last) {
    const rows = await parts.store.results.tail(batch.id, stream, at, Math.min(pageRows, last - at));
    // Rows are deleted from the front once the file is there: a gap means the rest stands in the file.
    if (rows[0]?.n !== at + 1) {
      yield* fromFile(parts, batch.id, stream, at, last);
      return;
    }
    yield Buffer.concat(rows.flatMap((row) => [row.body, newline]));
    at = rows.at(-1)!.n;
  }
}

/** Lines `after < n <= last` of the result file, which may have more of them than there were when `last` was told. */
async function* fromFile(
  { store, blobs }: ResultsParts,
  batchId: string,
  stream: ResultStream,
  after: number,
  last: number,
): AsyncGenerator<Uint8Array> {
  const batch = await store.batches.find(batchId);
  const fileId = stream === 'output' ? batch?.outputFileId : batch?.errorFileId;
  const file = fileId ? await store.files.find(fileId) : undefined;
  if (!file)
    throw new ApiError(
      'not_found',
      `The ${stream} file of this batch is gone: it was deleted or has expired.`,
    );
  let line = 0;
  for await (const chunk of await blobs.read(file.blobId)) {
    const skipped = skipLines(chunk, 0, after - line);
    line += skipped.lines;
    if (line < after) continue;
    const taken = skipLines(chunk, skipped.end, last - line);
    line += taken.lines;
    if (taken.end > skipped.end) yield chunk.subarray(skipped.end, taken.end);
    if (line === last) return;
  }
}

/** Goes `most` lines on from `start`, or to the end of the chunk. */
function skipLines(chunk: Uint8Array, start: number, most: number): { end: number; lines: number } {
  let end = start;
  let count = 0;
  while (count < most) {
    const at = chunk.indexOf(0x0a, end);
    if (at === -1) return { end: chunk.length, lines: count };
    end = at + 1;
    count++;
  }
  return { end, lines: count };
}
