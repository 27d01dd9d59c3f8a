import { createHash, type Hash } from 'node:crypto';

/** Memory of one part of an upload, which can be filled again once the part has arrived. */
export interface PartBuffer {
  /** Bytes added and not taken. */
  size(): number;
  /** Copies as much of `chunk` as the part has room for. @returns its bytes */
  add(chunk: Uint8Array): number;
  /** The bytes since the last call, in memory that the next `add` overwrites. */
  take(): { body: Uint8Array; bodyHash: string };
}

/** Sizes on the way to a full part, few because each leaves garbage. */
const steps = [64 * 1024, 1024 * 1024];

/**
 * Grows up to `maxBytes`, because most objects are small. Hashes each chunk as it comes: hashing a whole part would block the
 * event loop for many milliseconds.
 */
export function createPartBuffer(maxBytes: number): PartBuffer {
  let memory = Buffer.alloc(0);
  let filled = 0;
  let hash: Hash | undefined;

  function makeRoom(bytes: number): void {
    if (bytes <= memory.length) return;
    const grown = Buffer.allocUnsafeSlow(steps.find((step) => step >= bytes && step < maxBytes) ?? maxBytes);
    memory.copy(grown, 0, 0, filled);
    memory = grown;
  }

  return {
    size: () => filled,
    add(chunk) {
      const taken = chunk.subarray(0, maxBytes - filled);
      makeRoom(filled + taken.length);
      memory.set(taken, filled);
      hash = (hash ?? createHash('sha256')).update(taken);
      filled += taken.length;
      return taken.length;
    },
    take() {
      const body = memory.subarray(0, filled);
      const bodyHash = (hash ?? createHash('sha256')).digest('hex');
      filled = 0;
      hash = undefined;
      return { body, bodyHash };
    },
  };
}
