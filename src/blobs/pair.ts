import { StoreError } from '../core/store-error.ts';
import { isBlobMissing } from '../core/blob-error.ts';
import type { Blobs } from './blobs.ts';

export interface BlobPairOptions {
  /** Store of new blobs. */
  store: Blobs;
  /** Store that the others are moved from. */
  fallback: Blobs;
  /** The one of the two that is on a disk, which is asked first: it reports a missing blob at once. */
  disk: Blobs;
}

/**
 * Two stores as one while blobs are moved between them. A new blob goes to `store`; all others are found in either. A blob may
 * be moved at any time: it is in the target before it leaves its source.
 * @throws StoreError `mismatch` from `readLabel` if the stores belong to two installations
 */
export function createBlobPair({ store, fallback, disk }: BlobPairOptions): Blobs {
  const both = [store, fallback];
  const bucket = disk === store ? fallback : store;

  /** Asks the disk again at last: the blob may have been moved there meanwhile. */
  async function find<T>(get: (blobs: Blobs) => Promise<T>): Promise<T> {
    for (const blobs of [disk, bucket])
      try {
        return await get(blobs);
      } catch (error) {
        if (!isBlobMissing(error)) throw error;
      }
    return get(disk);
  }

  /** A bucket is read in ranges, and the blob may be moved between two of them. */
  async function* readThrough(first: AsyncIterable<Uint8Array>, name: string, start: number, end?: number) {
    let at = start;
    try {
      for await (const chunk of first) {
        at += chunk.length;
        yield chunk;
      }
      return;
    } catch (error) {
      if (!isBlobMissing(error)) throw error;
    }
    yield* await disk.read(name, { start: at, ...(end !== undefined && { end }) });
  }

  async function* merged<T>(list: (blobs: Blobs) => AsyncIterable<T>): AsyncGenerator<T> {
    for (const blobs of both) yield* list(blobs);
  }

  return {
    async start() {
      for (const blobs of both) await blobs.start();
    },
    async stop() {
      for (const blobs of both) await blobs.stop();
    },
    create: (name) => store.create(name),
    read: (name, range = {}) =>
      find(async (blobs) => {
        const stream = await blobs.read(name, range);
        return blobs === disk ? stream : readThrough(stream, name, range.start ?? 0, range.end);
      }),
    slice: (name, offset, length) => find((blobs) => blobs.slice(name, offset, length)),
    slices: (name, ranges) => find((blobs) => blobs.slices(name, ranges)),
    size: async (name) => (await disk.size(name)) ?? (await bucket.size(name)) ?? disk.size(name),
    async remove(name) {
      // The source first: a copy that is made meanwhile is then found by its maker to be of a removed blob.
      await fallback.remove(name);
      await store.remove(name);
    },
    list: (folder) => merged((blobs) => blobs.list(folder)),
    async quarantine(name, at) {
      for (const blobs of both) await blobs.quarantine(name, at);
    },
    async restore(name) {
      for (const blobs of both) await blobs.restore(name);
    },
    listQuarantined: () => merged((blobs) => blobs.listQuarantined()),
    async readLabel() {
      const [label, other] = [await store.readLabel(), await fallback.readLabel()];
      if (label !== undefined && other !== undefined && label !== other)
        throw new StoreError(
          'mismatch',
          `The two stores of files do not belong together: files.store is of installation ${label}, files.fallback of ${other}.`,
          'Name the stores of one installation.',
        );
      // A store without a label gets one when the start has compared the files with the database.
      return other === undefined ? undefined : label;
    },
    async label(installation) {
      for (const blobs of both) await blobs.label(installation);
    },
    async ping() {
      await Promise.all(both.map((blobs) => blobs.ping()));
    },
  };
}
