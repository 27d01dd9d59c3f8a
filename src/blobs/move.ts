import { createHash } from 'node:crypto';
import { mapConcurrent } from '../base/map-concurrent.ts';
import { isBlobMissing } from '../core/blob-error.ts';
import type { Blobs, ListedBlob } from './blobs.ts';
import { blobFolders } from './names.ts';

/** Content of a blob as far as it can be compared. */
export interface BlobSum {
  bytes: number;
  /** SHA-256 in hexadecimal. */
  sha256: string;
}

export interface MoveOptions {
  source: Blobs;
  target: Blobs;
  /** Sizes and checksums in the database of the files with these blobs, by blob. */
  sums: (blobIds: string[]) => Promise<Map<string, BlobSum>>;
  /** Removes a blob from the source once its copy is verified. */
  removes: boolean;
  signal: AbortSignal;
  onProgress: (moved: Moved) => void;
}

export interface Moved {
  /** Share of the blobs that is done, from 0 to 1. */
  share: number;
  copied: number;
  copiedBytes: number;
  /** Blobs that were in the target already, and intact. */
  present: number;
  /** Blobs removed from the source. */
  removed: number;
  /** Blobs whose content is not what the database says. They stay in the source. */
  damaged: string[];
  /** Blobs whose copy reads differently. The copy was removed. */
  failed: string[];
}

interface MovedBlob extends ListedBlob {
  /** Bytes of the blob of this name in the target. */
  bytesThere: number | undefined;
  /** Size and checksum in the database. */
  expected: BlobSum | undefined;
  share: number;
}

/** Blobs that are looked up together. */
const groupSize = 256;
/** Each holds two parts of an upload of 8 MiB at most. */
const concurrency = 8;

/**
 * Copies all blobs of `source` that `target` lacks, and verifies all: each is read back and compared by length and SHA-256 with the
 * database, or with the source where the database has no checksum. Blobs never change and are copied atomically, so this can be
 * interrupted and repeated, also while servers use both stores as a pair.
 * @throws BlobError of a store that is unavailable; the reason of `signal`
 */
export async function moveBlobs(options: MoveOptions): Promise<Moved> {
  const { source, target, removes, signal, onProgress } = options;
  const moved: Moved = {
    share: 0,
    copied: 0,
    copiedBytes: 0,
    present: 0,
    removed: 0,
    damaged: [],
    failed: [],
  };

  /** Sum of a blob; undefined if it is missing. */
  async function sumOf(blobs: Blobs, name: string): Promise<BlobSum | undefined> {
    return ifThere(async () => {
      const reader = createSum();
      for await (const chunk of await blobs.read(name)) {
        signal.throwIfAborted();
        reader.add(chunk);
      }
      return reader.end();
    });
  }

  /** Returns the sum of what was copied; undefined if the source no longer has the blob. */
  async function copy(name: string): Promise<BlobSum | undefined> {
    const reader = createSum();
    const writer = await target.create(name);
    try {
      const isThere = await ifThere(async () => {
        for await (const chunk of await source.read(name)) {
          signal.throwIfAborted();
          reader.add(chunk);
          await writer.write(chunk);
          moved.copiedBytes += chunk.length;
          onProgress(moved);
        }
        return true;
      });
      if (isThere) await writer.commit();
      else await writer.abort();
      return isThere ? reader.end() : undefined;
    } catch (error) {
      await writer.abort();
      throw error;
    }
  }

  /** True if the target has an intact copy in the end. */
  async function ensureCopy({ name, bytes, bytesThere, expected }: MovedBlob): Promise<boolean> {
    if (bytesThere === (expected?.bytes ?? bytes)) {
      const [there, wanted] = [await sumOf(target, name), expected ?? (await sumOf(source, name))];
      if (isSame(there, wanted)) {
        moved.present++;
        return true;
      }
    }
    const read = await copy(name);
    if (read === undefined) return false;
    if (!isSame(await sumOf(target, name), read)) {
      moved.failed.push(name);
      await target.remove(name);
      return false;
    }
    moved.copied++;
    if (expected === undefined || isSame(read, expected)) return true;
    moved.damaged.push(name);
    return false;
  }

  async function move(blob: MovedBlob): Promise<void> {
    const { name } = blob;
    if (await ensureCopy(blob)) {
      // A file that was deleted meanwhile must not come back.
      if ((await source.size(name)) === undefined) await removeUnlessReferenced(name);
      else if (removes) {
        await source.remove(name);
        moved.removed++;
      }
    }
    moved.share = blob.share;
    onProgress(moved);
  }

  /** A blob without a row was deleted. One with a row was moved by another run. */
  async function removeUnlessReferenced(name: string): Promise<void> {
    const owner = ownerOf(name);
    if (!(await options.sums([owner])).has(owner)) await target.remove(name);
  }

  for await (const group of groups(source, target)) {
    signal.throwIfAborted();
    const sums = await options.sums([...new Set(group.map(({ name }) => ownerOf(name)))]);
    // An index has no checksum of its own.
    const known = group.map((blob) => ({ ...blob, expected: sums.get(blob.name) }));
    await mapConcurrent(concurrency, known, signal, move);
  }
  return { ...moved, share: 1 };
}

async function* groups(source: Blobs, target: Blobs): AsyncGenerator<Omit<MovedBlob, 'expected'>[]> {
  let group: Omit<MovedBlob, 'expected'>[] = [];
  for (const [at, folder] of blobFolders.entries()) {
    const there = new Map<string, number>();
    for await (const { name, bytes } of target.list(folder)) there.set(name, bytes);
    for await (const blob of source.list(folder)) {
      const share = at / blobFolders.length;
      group.push({ ...blob, bytesThere: there.get(blob.name), share });
      if (group.length < groupSize) continue;
      yield group;
      group = [];
    }
  }
  yield group;
}

/** Result of `work`; undefined if the blob is missing. */
async function ifThere<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (isBlobMissing(error)) return undefined;
    throw error;
  }
}

function createSum() {
  const hash = createHash('sha256');
  let bytes = 0;
  return {
    add(chunk: Uint8Array) {
      hash.update(chunk);
      bytes += chunk.length;
    },
    end: (): BlobSum => ({ bytes, sha256: hash.digest('hex') }),
  };
}

function isSame(a: BlobSum | undefined, b: BlobSum | undefined): boolean {
  return a !== undefined && b !== undefined && a.bytes === b.bytes && a.sha256 === b.sha256;
}

function ownerOf(name: string): string {
  return name.replace(/\.index$/, '');
}
