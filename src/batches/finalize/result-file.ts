import { createHash } from 'node:crypto';
import type { Ids } from '../../base/ids.ts';
import type { Blobs } from '../../blobs/blobs.ts';
import type { Batch, ResultStream } from '../../core/batch.ts';
import type { StoredFile } from '../../core/file.ts';
import type { Store } from '../../store/store.ts';
import type { PageSize } from '../../store/contract/results.ts';
import { familyOf } from '../../core/key-family.ts';

/** Results per read while a file is written. */
const page: PageSize = { rows: 500, bytes: 4 << 20 };
const newline = Uint8Array.of(0x0a);

/** `batch_<id>_output.jsonl` or `batch_<id>_errors.jsonl`. */
export function resultFilename(batchId: string, stream: ResultStream): string {
  return `${batchId}_${stream}.jsonl`;
}

/** Writes one result stream of a batch, in commit order, to a durable blob. Returns the file without inserting its row; null if the stream is empty. */
export async function assembleResultFile(
  { store, blobs, ids }: { store: Store; blobs: Blobs; ids: Ids },
  batch: Batch,
  stream: ResultStream,
  now: number,
): Promise<StoredFile | null> {
  const blobId = ids.next('blob_');
  const writer = await blobs.create(blobId);
  const hash = createHash('sha256');
  let bytes = 0;
  try {
    for (let after = 0; ;) {
      const rows = await store.results.tail(batch.id, stream, after, page);
      if (rows.length === 0) break;
      const lines = Buffer.concat(rows.flatMap((row) => [row.body, newline]));
      hash.update(lines);
      bytes += lines.length;
      await writer.write(lines);
      after = rows.at(-1)!.n;
    }
    if (bytes === 0) {
      await writer.abort();
      return null;
    }
    await writer.commit();
  } catch (error) {
    await writer.abort();
    throw error;
  }
  return {
    id: ids.next('file-'),
    orgId: batch.orgId,
    keyId: familyOf(batch),
    purpose: 'batch_output',
    filename: resultFilename(batch.id, stream),
    bytes,
    blobId,
    sha256: hash.digest('hex'),
    requests: null,
    endpoint: null,
    createdAt: now,
    expiresAt: now + batch.resultTtlMs,
  };
}
