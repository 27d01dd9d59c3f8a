import { createHash } from 'node:crypto';
import type { Ids } from '../../base/ids.ts';
import type { Blobs, BlobWriter } from '../../blobs/blobs.ts';
import type { Batch, ResultStream } from '../../core/batch.ts';
import type { StoredFile } from '../../core/file.ts';
import { indexName } from '../../files/upload.ts';
import type { Store } from '../../store/store.ts';
import type { PageSize } from '../../store/contract/results.ts';
import { familyOf } from '../../core/key-family.ts';
import { encodeIndexRow } from '../lines/result-index.ts';

/** Results per read while a file is written. */
const page: PageSize = { rows: 500, bytes: 4 << 20 };
const newline = Uint8Array.of(0x0a);

/** `batch_<id>_output.jsonl` or `batch_<id>_errors.jsonl`. */
export function resultFilename(batchId: string, stream: ResultStream): string {
  return `${batchId}_${stream}.jsonl`;
}

/**
 * Writes one result stream of a batch, in commit order, to a durable blob, and its index to another. Returns the file without inserting
 * its row; null if the stream is empty.
 */
export async function assembleResultFile(
  { store, blobs, ids }: { store: Store; blobs: Blobs; ids: Ids },
  batch: Batch,
  stream: ResultStream,
  now: number,
): Promise<StoredFile | null> {
  const read = (after: number) => store.results.tail(batch.id, stream, after, page);
  const first = await read(0);
  if (first.length === 0) return null;
  const blobId = ids.next('blob_');
  const written = await writeBoth(blobs, blobId, async (writer, index) => {
    const hash = createHash('sha256');
    let bytes = 0;
    for (let rows = first; rows.length > 0; rows = await read(rows.at(-1)!.n)) {
      const lines = Buffer.concat(rows.flatMap((row) => [row.body, newline]));
      hash.update(lines);
      await writer.write(lines);
      const entries = rows.map(({ body, ...row }) => {
        const entry = encodeIndexRow({ ...row, offset: bytes, length: body.length });
        bytes += body.length + 1;
        return entry;
      });
      await index.write(Buffer.concat(entries));
    }
    return { bytes, sha256: hash.digest('hex') };
  });
  return {
    id: ids.next('file-'),
    orgId: batch.orgId,
    keyId: familyOf(batch),
    purpose: 'batch_output',
    filename: resultFilename(batch.id, stream),
    ...written,
    blobId,
    requests: null,
    endpoint: null,
    warnings: [],
    createdAt: now,
    expiresAt: now + batch.resultTtlMs,
  };
}

/** Writes a blob and its index; both are durable, or neither exists. */
async function writeBoth<T>(
  blobs: Blobs,
  blobId: string,
  write: (writer: BlobWriter, index: BlobWriter) => Promise<T>,
): Promise<T> {
  const writers: BlobWriter[] = [];
  try {
    for (const name of [indexName(blobId), blobId]) writers.push(await blobs.create(name));
    const [index, writer] = writers as [BlobWriter, BlobWriter];
    const written = await write(writer, index);
    for (const each of writers) await each.commit();
    return written;
  } catch (error) {
    for (const each of writers) await each.abort();
    throw error;
  }
}
