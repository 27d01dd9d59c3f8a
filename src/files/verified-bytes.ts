import { createHash } from 'node:crypto';
import type { Blobs } from '../blobs/blobs.ts';
import { BlobError } from '../core/blob-error.ts';
import type { StoredFile } from '../core/file.ts';

/** Files up to this size are read and checked as a whole before a byte of them is given away. */
const wholeBytes = 1 << 20;

/**
 * The content of a file, checked against its SHA-256: never wrong bytes (reliability.md, F52). A small file is checked
 * first; a larger one is streamed with its last chunk held back until the sum is known, so that a damaged one ends early
 * with an error instead of looking whole.
 * @throws BlobError when the blob is missing, has another length or, for small files, another content
 */
export async function verifiedBytes(blobs: Blobs, file: StoredFile): Promise<AsyncIterable<Uint8Array>> {
  const size = await blobs.size(file.blobId);
  if (size === undefined) throw damaged(file, 'its blob is missing', 'missing');
  if (size !== file.bytes) throw damaged(file, `its blob has ${size} bytes instead of ${file.bytes}`);
  if (size > wholeBytes) return streamed(await blobs.read(file.blobId), file);
  const content = await blobs.slice(file.blobId, 0, size);
  if (createHash('sha256').update(content).digest('hex') !== file.sha256) throw wrongSum(file);
  return once(content);
}

async function* streamed(source: AsyncIterable<Uint8Array>, file: StoredFile): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  let held: Uint8Array | undefined;
  for await (const chunk of source) {
    hash.update(chunk);
    if (held) yield held;
    held = chunk;
  }
  if (hash.digest('hex') !== file.sha256) throw wrongSum(file);
  if (held) yield held;
}

async function* once(content: Uint8Array): AsyncGenerator<Uint8Array> {
  if (content.length > 0) yield content;
}

function wrongSum(file: StoredFile): Error {
  return damaged(file, 'its SHA-256 is not the one it was stored with');
}

function damaged(file: StoredFile, why: string, code: 'missing' | 'damaged' = 'damaged'): BlobError {
  return new BlobError(
    code,
    `The content of ${file.id} (${file.blobId}) is damaged: ${why}.`,
    'Restore the data folder from a backup.',
  );
}
