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
      yield* fromFile(parts, batch.id, stream, at);
      return;
    }
    yield Buffer.concat(rows.flatMap((row) => [row.body, newline]));
    at = rows.at(-1)!.n;
  }
}

/** The result file from behind line `after` on. */
async function* fromFile(
  { store, blobs }: ResultsParts,
  batchId: string,
  stream: ResultStream,
  after: number,
): AsyncGenerator<Uint8Array> {
  const batch = await store.batches.find(batchId);
  const fileId = stream === 'output' ? batch?.outputFileId : batch?.errorFileId;
  const file = fileId ? await store.files.find(fileId) : undefined;
  if (!file)
    throw new ApiError(
      'not_found',
      `The ${stream} file of this batch is gone: it was deleted or has expired.`,
    );
  let skip = after;
  for await (const chunk of await blobs.read(file.blobId)) {
    let start = 0;
    while (skip > 0) {
      const end = chunk.indexOf(0x0a, start);
      if (end === -1) break;
      start = end + 1;
      skip--;
    }
    if (skip === 0 && start < chunk.length) yield chunk.subarray(start);
  }
}
