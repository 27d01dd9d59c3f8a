import { createHash } from 'node:crypto';
import type { Blobs } from '../blobs/blobs.ts';
import { BlobError } from '../core/blob-error.ts';
import type { StoredFile } from '../core/file.ts';
import type { ByteRange } from './files.ts';

/** Files up to this size are held in memory, checked, and given away. */
const heldBytes = 1 << 20;
/** Files up to this size are read twice: once to check them before the first byte, and once to give them away. */
const checkedFirstBytes = 64 << 20;
/** How many files are remembered to have been whole when they were read last. */
const remembered = 1000;

/** Resolves with the content of a file, or a range of it, once that is known to be whole, as far as its size allows. */
export type ReadVerified = (file: StoredFile, range?: ByteRange) => Promise<AsyncIterable<Uint8Array>>;

/**
 * Reads files against their length and SHA-256: never wrong bytes, and never too few (reliability.md, F52). What is
 * damaged throws before the first byte. A file too large to be read twice, or one that was whole when it was read last,
 * is checked while it is given away: its last chunk is held back until the sum is known, so that a damaged one ends with
 * an error instead of looking whole. A range has no sum of its own: the whole file is read first, unless it was whole when it
 * was read last.
 * @throws BlobError `missing` or `damaged`, naming file and blob
 */
export function createVerifiedReads(blobs: Blobs): ReadVerified {
  const whole = new Set<string>();

  const remember = (blobId: string) => {
    whole.delete(blobId);
    whole.add(blobId);
    if (whole.size > remembered) whole.delete(whole.values().next().value!);
  };

  /** Opened when the first chunk is asked for: a reader that goes away before leaves no file open. */
  async function* streamed(file: StoredFile): AsyncGenerator<Uint8Array> {
    const hash = createHash('sha256');
    let held: Uint8Array | undefined;
    for await (const chunk of await blobs.read(file.blobId, { end: file.bytes })) {
      hash.update(chunk);
      if (held) yield held;
      held = chunk;
    }
    if (hash.digest('hex') !== file.sha256) {
      whole.delete(file.blobId);
      throw wrongSum(file);
    }
    remember(file.blobId);
    if (held) yield held;
  }

  return async (file, range) => {
    await requireLength(blobs, file);
    const size = file.bytes;
    if (size <= heldBytes) return once((await checked(blobs, file)).subarray(range?.start, range?.end));
    const isChecked = whole.has(file.blobId) || (!range && size > checkedFirstBytes);
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
  return damaged(file, 'its SHA-256 is not the one it was stored with');
}

function damaged(file: StoredFile, why: string, code: 'missing' | 'damaged' = 'damaged'): BlobError {
  return new BlobError(
    code,
    `The content of ${file.id} (${file.blobId}) is damaged: ${why}.`,
    'Restore the files from a backup.',
  );
}
