import type { Clock } from '../base/clock.ts';

/** Time without a read after which a blob may have to leave. */
const keepMs = 60_000;

/** A blob with room for all its bytes. */
export interface CachedBlob {
  /** Bytes. */
  readonly size: number;
  /** Blocks that are read or being read, by number. */
  readonly blocks: Map<number, Promise<Uint8Array>>;
}

export interface CacheRoom {
  /** Returns the blob, with room for it; undefined if the others need the room. */
  enter(name: string, size: number): CachedBlob | undefined;
  leave(name: string): void;
}

/**
 * Divides a limit in bytes among whole blobs. A new blob takes the room of the blobs that have not been read for longest, but
 * never that of one read within the last minute: blobs that are read in turn would otherwise drop each other's blocks, and every
 * block would be read again and again.
 */
export function createCacheRoom({
  limitBytes,
  clock,
}: {
  limitBytes: number;
  clock: Pick<Clock, 'monotonic'>;
}): CacheRoom {
  /** In the order of their last reads. */
  const blobs = new Map<string, CachedBlob & { usedAt: number }>();
  let free = limitBytes;

  function leave(name: string): void {
    free += blobs.get(name)?.size ?? 0;
    blobs.delete(name);
  }

  function makeRoom(bytes: number): boolean {
    const idle: string[] = [];
    let available = free;
    for (const [name, { size, usedAt }] of blobs) {
      if (available >= bytes || clock.monotonic() - usedAt < keepMs) break;
      idle.push(name);
      available += size;
    }
    if (available < bytes) return false;
    for (const name of idle) leave(name);
    return true;
  }

  return {
    enter(name, size) {
      let blob = blobs.get(name);
      if (blob) blobs.delete(name);
      else {
        if (!makeRoom(size)) return undefined;
        blob = { size, blocks: new Map(), usedAt: 0 };
        free -= size;
      }
      blob.usedAt = clock.monotonic();
      blobs.set(name, blob);
      return blob;
    },
    leave,
  };
}
