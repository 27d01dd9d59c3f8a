import type { Clock } from '../base/clock.ts';
import type { Blobs, ByteRange } from './blobs.ts';
import { type CachedBlob, createCacheRoom } from './cache-room.ts';

/** Unit of a read, as large as a read of several ranges may be. */
const blockBytes = 1024 * 1024;
/** Blobs whose size is remembered. */
const maxRemembered = 1000;

interface ReadCacheOptions {
  /** Limit for the blocks of all blobs. */
  limitBytes: number;
  clock: Pick<Clock, 'monotonic'>;
}

/**
 * Keeps blocks that `slices` has read in memory, for blobs whose ranges are read a few at a time, in any order: the lines of an
 * input file. Blobs never change, so a block is valid until its blob is removed. `read` and `slice` always ask the store, because
 * they verify content. A blob without room is read as if there were no cache, so that no block is read and dropped in turn.
 */
export function cacheReads(store: Blobs, { limitBytes, clock }: ReadCacheOptions): Blobs {
  if (limitBytes === 0) return store;
  const room = createCacheRoom({ limitBytes, clock });
  /** Size of a blob; undefined after its first short read. */
  const sizes = new Map<string, number | undefined>();

  function remember(name: string, size: number | undefined): void {
    sizes.delete(name);
    sizes.set(name, size);
    if (sizes.size > maxRemembered) sizes.delete(sizes.keys().next().value!);
  }

  /** Returns the blob if it can hold blocks. The first read of a short stretch may be the only one, so it asks for no size. */
  async function find(name: string, { offset, length }: ByteRange): Promise<CachedBlob | undefined> {
    if (length === 0) return undefined;
    if (!sizes.has(name) && length <= blockBytes) {
      remember(name, undefined);
      return undefined;
    }
    const size = sizes.get(name) ?? (await store.size(name));
    if (size === undefined) return undefined;
    remember(name, size);
    // The store reports the error of a range beyond the end.
    return offset + length <= size ? room.enter(name, size) : undefined;
  }

  /** Returns a block, which all concurrent callers share. A failed read is repeated by the next caller. */
  function block(name: string, { size, blocks }: CachedBlob, at: number): Promise<Uint8Array> {
    const known = blocks.get(at);
    if (known) return known;
    const offset = at * blockBytes;
    const reading = store.slice(name, offset, Math.min(blockBytes, size - offset));
    blocks.set(at, reading);
    reading.catch(() => blocks.delete(at));
    return reading;
  }

  async function slices(name: string, ranges: readonly ByteRange[]): Promise<Uint8Array[]> {
    const blob = await find(name, stretchOf(ranges));
    if (!blob) return store.slices(name, ranges);
    const read = new Map<number, Uint8Array>();
    const wanted = new Set(ranges.flatMap(blocksOf));
    await Promise.all([...wanted].map(async (at) => read.set(at, await block(name, blob, at))));
    return ranges.map((range) => copyOf(range, read));
  }

  /** Forgets a blob once `change` has ended, even if it failed half-way. */
  async function forgetAfter(name: string, change: Promise<void>): Promise<void> {
    await change.finally(() => {
      sizes.delete(name);
      room.leave(name);
    });
  }

  return {
    ...store,
    slices,
    remove: (name) => forgetAfter(name, store.remove(name)),
    quarantine: (name, at) => forgetAfter(name, store.quarantine(name, at)),
  };
}

/** Range from the first byte to the last. */
function stretchOf(ranges: readonly ByteRange[]): ByteRange {
  let [start, end] = [Infinity, 0];
  for (const { offset, length } of ranges) {
    if (length === 0) continue;
    start = Math.min(start, offset);
    end = Math.max(end, offset + length);
  }
  return end === 0 ? { offset: 0, length: 0 } : { offset: start, length: end - start };
}

/** Numbers of the blocks that a range touches. */
function blocksOf({ offset, length }: ByteRange): number[] {
  if (length === 0) return [];
  const first = Math.floor(offset / blockBytes);
  const last = Math.floor((offset + length - 1) / blockBytes);
  return Array.from({ length: last - first + 1 }, (_, at) => first + at);
}

/** Copies a range, because a view would keep its whole block in memory. */
function copyOf(range: ByteRange, blocks: ReadonlyMap<number, Uint8Array>): Uint8Array {
  const bytes = new Uint8Array(range.length);
  for (const at of blocksOf(range)) {
    const start = at * blockBytes - range.offset;
    const part = blocks.get(at)!.subarray(Math.max(0, -start), range.length - start);
    bytes.set(part, Math.max(0, start));
  }
  return bytes;
}
