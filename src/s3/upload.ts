import { createPartBuffer, type PartBuffer } from './part-buffer.ts';
import type { S3Client } from './client.ts';
import { getSize } from './ranges.ts';
import { escapeXml, findText } from './xml.ts';

/** Size of all parts but the last: some stores require equal parts, and every store accepts this size. */
export const usualPartBytes = 8 * 1024 * 1024;

/** Short, so that a failed write to a silent store ends soon. */
const abortTimeoutMs = 5_000;

/** Object that does not exist until `commit`. Calls follow one another; after a failed one only `discard` is allowed. */
export interface S3Upload {
  /** Bytes held in memory. */
  bufferedBytes(): number;
  /** Resolves when the next chunk can be written; `chunk` may then be reused. */
  write(chunk: Uint8Array): Promise<void>;
  commit(): Promise<void>;
  /** Removes everything written so far. */
  discard(): Promise<void>;
}

export interface S3UploadOptions {
  /** At least 5 MiB; an object has at most 10,000 parts. */
  partBytes?: number;
  /** Called with the id of a multipart upload, whose parts are billed until it is completed or aborted. */
  onBegin?: ((id: string) => void) | undefined;
}

interface Multipart {
  id: string;
  /** ETags of the parts. */
  tags: string[];
}

/**
 * Writes an object of one part with a single PUT and a larger one as a multipart upload; both are atomic. One part is sent while
 * the next one fills, so an error appears in a later call, at the latest in `commit`.
 */
export function createUpload(
  client: S3Client,
  key: string,
  { partBytes = usualPartBytes, onBegin }: S3UploadOptions = {},
): S3Upload {
  let part = createPartBuffer(partBytes);
  let spare: PartBuffer | undefined;
  let size = 0;
  let upload: Multipart | undefined;
  let sending: Promise<void> | undefined;
  let sendingBytes = 0;

  async function sendPart(): Promise<void> {
    await sending;
    if (upload === undefined) {
      upload = { id: await beginUpload(client, key), tags: [] };
      onBegin?.(upload.id);
    }
    const { id, tags } = upload;
    const at = tags.length;
    tags.push('');
    const query = { partNumber: String(at + 1), uploadId: id };
    // The memory of the part before, which has arrived.
    const next = spare ?? createPartBuffer(partBytes);
    [spare, part] = [part, next];
    const taken = spare.take();
    sendingBytes = taken.body.length;
    sending = client.send({ method: 'PUT', key, query, ...taken }).then(({ headers }) => {
      sendingBytes = 0;
      tags[at] = String(headers['etag']);
    });
    // The next call awaits it; until then a failure must not count as unhandled.
    sending.catch(() => {});
  }

  /** Leaves the rest to the sweeper and to `abortLeftovers` if the store does not answer. */
  async function discard(): Promise<void> {
    part.take();
    await sending?.catch(() => {});
    sendingBytes = 0;
    await (upload && abortUpload(client, key, upload.id, abortTimeoutMs).catch(() => {}));
  }

  return {
    bufferedBytes: () => part.size() + sendingBytes,
    async write(chunk) {
      for (let from = 0; from < chunk.length;) {
        from += part.add(chunk.subarray(from));
        if (part.size() === partBytes) await sendPart();
      }
      size += chunk.length;
    },
    async commit() {
      if (!upload) return void (await client.send({ method: 'PUT', key, ...part.take() }));
      if (part.size() > 0) await sendPart();
      await sending;
      await completeUpload(client, key, upload, size);
    },
    discard,
  };
}

/** Begins a multipart upload. @returns its id */
export async function beginUpload(client: S3Client, key: string): Promise<string> {
  const { body } = await client.send({ method: 'POST', key, query: { uploads: '' } });
  const id = findText(body.toString(), 'UploadId');
  if (id === undefined) throw protocolError(client, 'began an upload without an UploadId');
  return id;
}

/** Completes an upload. If the upload is gone, an attempt without an answer may have completed it: then the object exists. */
async function completeUpload(
  client: S3Client,
  key: string,
  { id, tags }: Multipart,
  size: number,
): Promise<void> {
  const parts = tags.map(
    (tag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${escapeXml(tag)}</ETag></Part>`,
  );
  const body = Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`);
  const query = { uploadId: id };
  const { code } = await client.send({ method: 'POST', key, query, body, accept: ['NoSuchUpload'] });
  if (code === undefined) return;
  if ((await getSize(client, key)) !== size)
    throw protocolError(client, 'lost an upload before its completion');
}

/** Aborts an upload; does nothing if it is gone. With `timeoutMs` it is tried only once. */
export async function abortUpload(
  client: S3Client,
  key: string,
  uploadId: string,
  timeoutMs?: number,
): Promise<void> {
  const limit = timeoutMs === undefined ? {} : { timeoutMs };
  await client.send({ method: 'DELETE', key, query: { uploadId }, accept: ['NoSuchUpload'], ...limit });
}

function protocolError(client: S3Client, what: string): Error {
  return client.toError({ kind: 'other', message: `The object store ${what}.` });
}
