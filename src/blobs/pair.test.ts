import { beforeEach, describe, expect, it } from 'vitest';
import { createMemoryBlobs, type MemoryBlobs } from '../../test/support/memory-blobs.ts';
import { put, collect } from '../../test/blobs/conformance.ts';
import type { Blobs } from './blobs.ts';
import { createBlobPair } from './pair.ts';

const name = `blob_${'0'.repeat(32)}`;
const bytes = Buffer.from(Array.from({ length: 5_000 }, (_, at) => at % 251));

let disk: MemoryBlobs;
let bucket: MemoryBlobs;
/** Calls of both stores, as `disk size`. */
let calls: string[];
/** Runs before each call. */
let before: (call: string) => Promise<void>;
/** The pair while files move into the bucket. */
let pair: Blobs;

beforeEach(() => {
  [disk, bucket] = [createMemoryBlobs(), createMemoryBlobs()];
  calls = [];
  before = async () => {};
  const seen = (store: MemoryBlobs, label: string) =>
    store.gatedBy(async (operation) => {
      calls.push(`${label} ${operation}`);
      await before(`${label} ${operation}`);
    });
  const [onDisk, inBucket] = [seen(disk, 'disk'), seen(bucket, 'bucket')];
  pair = createBlobPair({ store: inBucket, fallback: onDisk, disk: onDisk });
});

const listed = async () => {
  const found: string[] = [];
  for await (const each of pair.list()) found.push(each.name);
  return found;
};

describe('a pair of stores', () => {
  it('writes to the new store and reads from both', async () => {
    await put(pair, name, bytes);
    expect([bucket.stored.size, disk.stored.size]).toEqual([1, 0]);
    disk.put(`${name}.index`, bytes.subarray(0, 9));
    expect([await pair.size(name), await pair.size(`${name}.index`)]).toEqual([5_000, 9]);
    expect(bytes.equals(await collect(await pair.read(name)))).toBe(true);
    expect(Buffer.from(await pair.slice(`${name}.index`, 2, 3))).toEqual(Buffer.from([2, 3, 4]));
    expect((await pair.slices(name, [{ offset: 4_999, length: 1 }])).map(([byte]) => byte)).toEqual([
      4_999 % 251,
    ]);
    expect(await listed()).toEqual([name, `${name}.index`]);
  });

  it('asks the bucket only for what is not on the disk', async () => {
    disk.put(name, bytes);
    await pair.slice(name, 0, 1);
    expect(calls).toEqual(['disk slice']);
  });

  it('reports what neither has as missing', async () => {
    await expect(pair.read(name)).rejects.toMatchObject({ code: 'missing' });
    await expect(pair.slice(name, 0, 1)).rejects.toMatchObject({ code: 'missing' });
    expect(await pair.size(name)).toBeUndefined();
  });

  it('does not take a store that is away for one without the blob', async () => {
    bucket.put(name, bytes);
    before = async (call) => {
      if (call.startsWith('disk')) throw new Error('not mounted');
    };
    await expect(pair.slice(name, 0, 1)).rejects.toThrow('not mounted');
    await expect(pair.size(name)).rejects.toThrow('not mounted');
  });

  it.each(['slice', 'slices', 'size', 'read'] as const)(
    'finds a blob with %s that comes back to the disk between two looks',
    async (operation) => {
      bucket.put(name, bytes);
      before = async (call) => {
        if (call !== `bucket ${operation}`) return;
        disk.put(name, bytes);
        await bucket.remove(name);
      };
      const found = {
        slice: () => pair.slice(name, 0, 5_000),
        slices: async () => (await pair.slices(name, [{ offset: 0, length: 5_000 }]))[0]!,
        read: async () => collect(await pair.read(name)),
        size: async () => bytes.subarray(0, await pair.size(name)),
      };
      expect(bytes.equals(await found[operation]())).toBe(true);
    },
  );

  it('continues a stream when its blob moves to the disk during the read', async () => {
    // A bucket is read in ranges.
    const ranged: Blobs = {
      ...bucket,
      async read(blob, { start = 0, end = 5_000 } = {}) {
        return (async function* () {
          for (let at = start; at < end; at += 1_000)
            yield await bucket.slice(blob, at, Math.min(1_000, end - at));
        })();
      },
    };
    bucket.put(name, bytes);
    const moving = createBlobPair({ store: disk, fallback: ranged, disk });
    for (const range of [{}, { start: 500, end: 4_500 }]) {
      const chunks: Uint8Array[] = [];
      for await (const chunk of await moving.read(name, range)) {
        chunks.push(chunk);
        disk.put(name, bytes);
        await bucket.remove(name);
      }
      expect(bytes.subarray(range.start, range.end).equals(Buffer.concat(chunks))).toBe(true);
      bucket.put(name, bytes);
      await disk.remove(name);
    }
  });

  it('removes, sets aside and restores in both', async () => {
    for (const store of [disk, bucket]) store.put(name, bytes);
    await pair.quarantine(name, 7);
    await expect(pair.read(name)).rejects.toMatchObject({ code: 'missing' });
    await pair.restore(name);
    expect([disk.stored.size, bucket.stored.size]).toEqual([1, 1]);
    calls.length = 0;
    await pair.remove(name);
    expect(calls).toEqual(['disk remove', 'bucket remove']);
    expect(await listed()).toEqual([]);
  });

  it('has the label of both, none where one lacks it, and fails where they differ', async () => {
    for (const store of [disk, bucket]) {
      expect(await pair.readLabel()).toBeUndefined();
      await store.label('inst_1');
    }
    expect(await pair.readLabel()).toBe('inst_1');
    await pair.label('inst_3');
    expect([await disk.readLabel(), await bucket.readLabel()]).toEqual(['inst_3', 'inst_3']);
    await disk.label('inst_1');
    await bucket.label('inst_2');
    await expect(pair.readLabel()).rejects.toMatchObject({ code: 'mismatch' });
  });
});
