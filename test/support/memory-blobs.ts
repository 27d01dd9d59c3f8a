import type { Blobs } from '../../src/blobs/blobs.ts';
import { blobKey } from '../../src/blobs/names.ts';
import { BlobError } from '../../src/core/blob-error.ts';

/** `Blobs` in memory. Committed blobs persist, even if their writer's process dies. */
export interface MemoryBlobs extends Blobs {
  readonly stored: ReadonlyMap<string, Uint8Array>;
  readonly quarantined: ReadonlyMap<string, unknown>;
  put(name: string, bytes: Uint8Array): void;
  /**
   * Returns the same blobs as one process sees them: `turn` is awaited before each operation, and may delay it, fail, or
   * never resolve for a process that died. Such a process never commits its writers.
   */
  gatedBy(turn: (operation: string, name: string) => Promise<void>): Blobs;
}

export function createMemoryBlobs({ now = () => 0 }: { now?: () => number } = {}): MemoryBlobs {
  const stored = new Map<string, Uint8Array>();
  const times = new Map<string, number>();
  const aside = new Map<string, { bytes: Uint8Array; since: number }>();
  let label: string | undefined;

  const put = (name: string, bytes: Uint8Array) => {
    stored.set(name, bytes);
    times.set(name, now());
  };

  const find = (name: string): Uint8Array => {
    const bytes = stored.get(name);
    if (!bytes) throw new BlobError('missing', `There is no blob ${name}.`, '');
    return bytes;
  };

  const part = (name: string, start: number, end: number): Uint8Array => {
    const bytes = find(name);
    if (end > bytes.length) throw new BlobError('damaged', `The blob ${name} ends before ${end}.`, '');
    return bytes.subarray(start, end);
  };

  const seenThrough = (turn: (operation: string, name: string) => Promise<void>): Blobs => ({
    async start() {},
    async stop() {},

    async create(name) {
      await turn('create', name);
      const chunks: Uint8Array[] = [];
      return {
        bufferedBytes: 0,
        async write(chunk) {
          await turn('write', name);
          // `slice` of a Buffer would not copy.
          chunks.push(new Uint8Array(chunk));
        },
        async commit() {
          await turn('commit', name);
          put(name, new Uint8Array(Buffer.concat(chunks)));
        },
        async abort() {
          chunks.length = 0;
        },
      };
    },

    async read(name, { start = 0, end } = {}) {
      await turn('read', name);
      const bytes = part(name, start, end ?? find(name).length);
      return chunksOf(bytes);
    },

    async slice(name, offset, length) {
      await turn('slice', name);
      return part(name, offset, offset + length).slice();
    },

    async slices(name, places) {
      await turn('slices', name);
      return places.map(({ offset, length }) => part(name, offset, offset + length).slice());
    },

    async size(name) {
      await turn('size', name);
      return stored.get(name)?.length;
    },

    async remove(name) {
      await turn('remove', name);
      stored.delete(name);
      times.delete(name);
      aside.delete(name);
    },

    async quarantine(name, at) {
      await turn('quarantine', name);
      const bytes = stored.get(name);
      if (bytes) aside.set(name, { bytes, since: at });
      stored.delete(name);
      times.delete(name);
    },

    async restore(name) {
      await turn('restore', name);
      const back = aside.get(name);
      if (back) put(name, back.bytes);
      aside.delete(name);
    },

    async *listQuarantined() {
      await turn('listQuarantined', '');
      for (const [name, { since }] of aside) yield { name, since };
    },

    async readLabel() {
      await turn('readLabel', '');
      return label;
    },

    async label(installation) {
      await turn('label', '');
      label = installation;
    },

    async *list(folder) {
      await turn('list', '');
      for (const [name, modifiedAt] of times)
        if (folder === undefined || blobKey(name).startsWith(`${folder}/`))
          yield { name, bytes: stored.get(name)!.length, modifiedAt };
    },

    ping: () => turn('ping', ''),
  });

  return { ...seenThrough(() => Promise.resolve()), stored, quarantined: aside, put, gatedBy: seenThrough };
}

/** Yields small pieces that do not end where lines end. */
async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  const size = 1_000;
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
