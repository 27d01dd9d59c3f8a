import { createHash } from 'node:crypto';
import type { Blobs } from '../blobs/blobs.ts';
import { type BlobError, lostBlob } from '../core/blob-error.ts';
import type { StoredFile } from '../core/file.ts';
import type { ByteRange } from './files.ts';

/** Files up to this size are verified in memory. */
const inMemoryBytes = 1 << 20;
/** Files up to this size are read twice, to verify them before the first byte is sent. */
const checkedFirstBytes = 64 << 20;
/** Files remembered as intact at their last read. */
const maxRemembered = 1000;

/** Resolves with the content of a file or a range, after verifying as much as the size allows. */
export type ReadVerified = (file: StoredFile, range?: ByteRange) => Promise<AsyncIterable<Uint8Array>>;

/**
 * Verifies files by length and SHA-256, so that readers never get wrong or too few bytes (reliability.md, F52). A damaged file
 * throws before the first byte. A file that is too large to be read twice, or was intact at its last read, is verified while it
 * streams: its last chunk is held back until the checksum is known, so that a damaged file ends with an error. For a range, the
 * whole file is read first unless it was intact at its last read.
 * @throws BlobError `missing` or `damaged`, naming file and blob
 */
export function createVerifiedReads(blobs: Blobs): ReadVerified {
  const intact = new Set<string>();

  const remember = (blobId: string) => {
    intact.delete(blobId);
    intact.add(blobId);
    if (intact.size > maxRemembered) intact.delete(intact.values().next().value!);
  };

  /** Opens the blob at the first read, so that a reader that leaves before it leaves no file open. */
  async function* streamed(file: StoredFile): AsyncGenerator<Uint8Array> {
    const hash = createHash('sha256');
    let held: Uint8Array | undefined;
    for await (const chunk of await blobs.read(file.blobId, { end: file.bytes })) {
      hash.update(chunk);
      if (held) yield held;
      held = chunk;
    }
    if (hash.digest('hex') !== file.sha256) {
      intact.delete(file.blobId);
      throw wrongSum(file);
    }
    remember(file.blobId);
    if (held) yield held;
  }

  return async (file, range) => {
    await requireLength(blobs, file);
    const size = file.bytes;
    if (size <= inMemoryBytes) return once((await checked(blobs, file)).subarray(range?.start, range?.end));
    const isChecked = intact.has(file.blobId) || (!range && size > checkedFirstBytes);
    if (!isChecked) for await (const _ of streamed(file));
    return range ? blobs.read(file.blobId, range) : streamed(file);
  };
}

/** @throws BlobError `missing` or `damaged` */
export async function requireLength(blobs: Blobs, file: StoredFile): Promise<void> {
  const size = await blobs.size(file.blobId);
  if (size === undefined) throw damaged(file, 'its blob is missing', 'missing');
  if (size !== file.bytes) throw damaged(file, `its blob has ${size} bytes instead of ${file.bytes}`);
}

async function checked(blobs: Blobs, file: StoredFile): Promise<Uint8Array> {
  const content = await blobs.slice(file.blobId, 0, file.bytes);
  if (createHash('sha256').update(content).digest('hex') !== file.sha256) throw wrongSum(file);
  return content;
}

async function* once(content: Uint8Array): AsyncGenerator<Uint8Array> {
  if (content.length > 0) yield content;
}

function wrongSum(file: StoredFile): BlobError {
  return damaged(file, 'its SHA-256 differs from the stored one');
}

function damaged(file: StoredFile, why: string, code: 'missing' | 'damaged' = 'damaged'): BlobError {
  return lostBlob(code, `The content of ${file.id} (${file.blobId}) is damaged: ${why}.`);
}
