import { BlobError } from '../../core/blob-error.ts';
import type { BlobWriter } from '../blobs.ts';
import { createWriter } from '../writer.ts';
import type { S3Client } from './client.ts';
import { sizeOf } from './read.ts';
import { escaped, textOf } from './xml.ts';

/** All parts of an upload but its last are of one size, as some stores want it, and none is smaller than any store takes. */
export const partBytes = 8 * 1024 * 1024;

/** Whoever was refused by a store that is silent is not kept waiting for what is cleared away there. */
const lastWordMs = 5_000;

interface Multipart {
  id: string;
  /** The tags of what was sent, by which the store knows the parts. */
  tags: string[];
}

/**
 * What fits into one part is put at once, everything else is a multipart upload: in both cases the object is there whole, or
 * not at all. One part is on its way while the next is filled; a fault is told by a later call, by `commit` at the latest.
 */
export function createUpload(client: S3Client, key: string): BlobWriter {
  let chunks: Uint8Array[] = [];
  let held = 0;
  let size = 0;
  let upload: Multipart | undefined;
  let sending: Promise<void> | undefined;
  let onTheWay = 0;

  const taken = () => {
    const body = Buffer.concat(chunks, held);
    chunks = [];
    held = 0;
    return body;
  };

  async function sendPart(): Promise<void> {
    await sending;
    const { id, tags } = (upload ??= { id: await beginUpload(client, key), tags: [] });
    const part = tags.length;
    tags.push('');
    const query = { partNumber: String(part + 1), uploadId: id };
    const body = taken();
    onTheWay = body.length;
    sending = client.send({ method: 'PUT', key, query, body }).then(({ headers }) => {
      onTheWay = 0;
      tags[part] = String(headers['etag']);
    });
    // Awaited before the next one; until then a failure must not count as unhandled.
    sending.catch(() => {});
  }

  /** What cannot be cleared away now is found by the sweeper, or as an upload that nobody goes on with. */
  async function discard(): Promise<void> {
    taken();
    await sending?.catch(() => {});
    onTheWay = 0;
    await (upload && abortUpload(client, key, upload.id, lastWordMs).catch(() => {}));
  }

  return createWriter({
    held: () => held + onTheWay,
    async write(chunk) {
      for (let from = 0; from < chunk.length;) {
        // A copy: whoever writes fills the same memory again.
        const piece = Uint8Array.prototype.slice.call(chunk, from, from + partBytes - held);
        chunks.push(piece);
        held += piece.length;
        from += piece.length;
        if (held === partBytes) await sendPart();
      }
      size += chunk.length;
    },
    async commit() {
      if (!upload) return void (await client.send({ method: 'PUT', key, body: taken() }));
      if (held > 0) await sendPart();
      await sending;
      await completeUpload(client, key, upload, size);
    },
    discard,
  });
}

async function beginUpload(client: S3Client, key: string): Promise<string> {
  const { body } = await client.send({ method: 'POST', key, query: { uploads: '' } });
  const id = textOf(body.toString(), 'UploadId');
  if (id === undefined) throw notUnderstood('began an upload without an UploadId');
  return id;
}

/** An upload that is gone may have been completed by a try whose answer was lost: then the object is there. */
async function completeUpload(
  client: S3Client,
  key: string,
  { id, tags }: Multipart,
  size: number,
): Promise<void> {
  const parts = tags.map(
    (tag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${escaped(tag)}</ETag></Part>`,
  );
  const body = Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`);
  const request = { method: 'POST', key, query: { uploadId: id }, body, may: ['NoSuchUpload'] } as const;
  const { code } = await client.send(request);
  if (code === undefined) return;
  if ((await sizeOf(client, key)) !== size) throw notUnderstood('lost an upload that was to be completed');
}

/** @param withinMs of its answer; as of any request, and tried again, if absent */
export async function abortUpload(
  client: S3Client,
  key: string,
  uploadId: string,
  withinMs?: number,
): Promise<void> {
  const may = ['NoSuchUpload'];
  await client.send({ method: 'DELETE', key, query: { uploadId }, may, ...(withinMs && { withinMs }) });
}

function notUnderstood(what: string): BlobError {
  return new BlobError('unavailable', `The object store ${what}.`, 'Look for the cause in its log.');
}
