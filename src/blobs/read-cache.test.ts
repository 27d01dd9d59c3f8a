import { beforeEach, describe, expect, it } from 'vitest';
import { createMemoryBlobs, type MemoryBlobs } from '../../test/support/memory-blobs.ts';
import type { Blobs, ByteRange } from './blobs.ts';
import { cacheReads } from './read-cache.ts';

const mebibyte = 1024 * 1024;
const size = 4 * mebibyte - 1_000;
const blobName = (digit: string) => `blob_${digit.repeat(32)}`;
const name = blobName('0');
const byteAt = (at: number) => at % 251;
const bytes = Buffer.from(Uint8Array.from({ length: size }, (_, at) => byteAt(at)));

let stored: MemoryBlobs;
/** Calls of the store, as `slice 0`, with the last digit of the name. */
let calls: string[];
/** Runs before each call. */
let before: (operation: string) => Promise<void>;
let elapsed: number;

beforeEach(() => {
  stored = createMemoryBlobs();
  stored.put(name, bytes);
  calls = [];
  before = async () => {};
  elapsed = 0;
});

function open(limitBytes = 8 * mebibyte): Blobs {
  const store = stored.gatedBy(async (operation, of) => {
    calls.push(`${operation} ${of.at(-1)}`);
    await before(operation);
  });
  return cacheReads(store, { limitBytes, clock: { monotonic: () => elapsed } });
}

const count = (call: string) => calls.filter((each) => each === call).length;
/** Lines of 100 bytes all over the blob. */
const lines = (from: number): ByteRange[] =>
  Array.from({ length: 30 }, (_, at) => ({ offset: from + at * 130_000, length: 100 }));
const wide = lines(0);

async function expectRead(blobs: Blobs, ranges: readonly ByteRange[], of = name): Promise<void> {
  const read = await blobs.slices(of, ranges);
  expect(read.map((each) => each.length)).toEqual(ranges.map(({ length }) => length));
  for (const [at, { offset, length }] of ranges.entries())
    expect(bytes.subarray(offset, offset + length).equals(read[at]!)).toBe(true);
}

describe('a read cache', () => {
  it('reads each block once, whatever the ranges, and the last one up to the end', async () => {
    const blobs = open();
    for (let from = 0; from < 5_000; from += 500) await expectRead(blobs, lines(from));
    await expectRead(blobs, [
      { offset: size - 10, length: 10 },
      { offset: mebibyte - 50, length: 2 * mebibyte + 100 },
      { offset: 7, length: 0 },
      { offset: mebibyte, length: mebibyte },
      { offset: 0, length: size },
    ]);
    expect(calls.toSorted()).toEqual(['size 0', ...Array.from({ length: 4 }, () => 'slice 0')]);
  });

  it('reads only the blocks that ranges touch', async () => {
    const blobs = open();
    await expectRead(blobs, [
      { offset: 0, length: 1 },
      { offset: 2 * mebibyte - 1, length: 1 },
    ]);
    expect(count('slice 0')).toBe(2);
    await expectRead(blobs, [{ offset: 2 * mebibyte - 1, length: 2 }]);
    expect(count('slice 0')).toBe(3);
  });

  it('returns copies, which keep no block in memory', async () => {
    const blobs = open();
    const [first] = await blobs.slices(name, wide);
    expect(first!.buffer.byteLength).toBe(100);
    first!.fill(255);
    await expectRead(blobs, wide);
  });

  it('reads the first short stretch of a blob as it is asked for, since it may be the only one', async () => {
    const blobs = open();
    await expectRead(blobs, [{ offset: 5, length: 10 }]);
    expect(calls).toEqual(['slices 0']);
    await expectRead(blobs, [{ offset: 5, length: 10 }]);
    await expectRead(blobs, [{ offset: 90, length: 10 }]);
    expect(calls.slice(1)).toEqual(['size 0', 'slice 0']);
  });

  it('shares the read of a block among concurrent callers', async () => {
    const blobs = open();
    const gate = Promise.withResolvers<void>();
    before = async (operation) => (operation === 'slice' ? gate.promise : undefined);
    const reads = [0, 200, 400].map((from) => expectRead(blobs, lines(from)));
    while (count('slice 0') < 4) await new Promise((resolve) => setImmediate(resolve));
    gate.resolve();
    await Promise.all(reads);
    expect(count('slice 0')).toBe(4);
  });

  it('keeps no failure: the next caller reads the block again, and no other', async () => {
    const blobs = open();
    let failures = 1;
    before = async (operation) => {
      if (operation === 'slice' && failures-- > 0) throw new Error('slow down');
    };
    await expect(blobs.slices(name, wide)).rejects.toThrow('slow down');
    await expectRead(blobs, wide);
    expect(count('slice 0')).toBe(5);
  });

  it('verifies with the bytes of the store: `slice` and `read` bypass it', async () => {
    const blobs = open();
    await expectRead(blobs, wide);
    stored.put(name, Buffer.alloc(size));
    expect((await blobs.slice(name, 1, 1))[0]).toBe(0);
    for await (const chunk of await blobs.read(name, { start: 1, end: 2 })) expect(chunk[0]).toBe(0);
    expect(count('slice 0')).toBe(5);
  });

  it.each(['remove', 'quarantine'] as const)('forgets a blob after its %s', async (change) => {
    const blobs = open();
    await expectRead(blobs, wide);
    await blobs[change](name, 0);
    await expect(blobs.slices(name, wide)).rejects.toMatchObject({ code: 'missing' });
    await expect(blobs.slices(name, lines(0).slice(0, 1))).rejects.toMatchObject({ code: 'missing' });
  });

  it('forgets a blob after a removal that failed half-way', async () => {
    const blobs = open();
    await expectRead(blobs, wide);
    before = async (operation) => {
      if (operation !== 'remove') return;
      await stored.remove(name);
      throw new Error('slow down');
    };
    await expect(blobs.remove(name)).rejects.toThrow('slow down');
    await expect(blobs.slices(name, wide)).rejects.toMatchObject({ code: 'missing' });
  });

  it('reports a blob that ends before a range', async () => {
    const blobs = open();
    await expectRead(blobs, wide);
    await expect(blobs.slices(name, [...wide, { offset: size - 1, length: 2 }])).rejects.toMatchObject({
      code: 'damaged',
    });
  });
});

describe('the limit of a read cache', () => {
  const other = blobName('1');
  const third = blobName('2');
  beforeEach(() => {
    for (const each of [other, third]) stored.put(each, bytes);
  });

  it('leaves a larger blob to the store, which is asked for its size once', async () => {
    const blobs = open(size - 1);
    for (let round = 0; round < 3; round++) await expectRead(blobs, wide);
    expect(calls).toEqual(['size 0', 'slices 0', 'slices 0', 'slices 0']);
    const fitting = open(size);
    for (let round = 0; round < 3; round++) await expectRead(fitting, wide);
    expect(count('slice 0')).toBe(4);
  });

  it('of 0 makes none', async () => {
    const blobs = open(0);
    for (let round = 0; round < 2; round++) await expectRead(blobs, wide);
    expect(calls).toEqual(['slices 0', 'slices 0']);
  });

  it('keeps the blobs read within a minute: those read in turn do not drop each other', async () => {
    const blobs = open(2 * size);
    for (let round = 0; round < 4; round++) {
      for (const each of [name, other, third]) await expectRead(blobs, wide, each);
      elapsed += 40_000;
    }
    expect([count('slice 0'), count('slice 1'), count('slice 2')]).toEqual([4, 4, 0]);
    expect(count('slices 2')).toBe(4);
  });

  it('gives the room of the blob that has not been read for longest to a new one', async () => {
    const blobs = open(2 * size);
    await expectRead(blobs, wide, name);
    await expectRead(blobs, wide, other);
    elapsed += 30_000;
    await expectRead(blobs, wide, name);
    elapsed += 30_000;
    for (let round = 0; round < 2; round++)
      for (const each of [third, name]) await expectRead(blobs, wide, each);
    expect([count('slice 0'), count('slice 2'), count('slices 2')]).toEqual([4, 4, 0]);
    await expectRead(blobs, wide, other);
    expect([count('slice 1'), count('slices 1')]).toEqual([4, 1]);
  });

  it('returns the room of a removed blob', async () => {
    const blobs = open(size);
    await expectRead(blobs, wide);
    await blobs.remove(name);
    await expectRead(blobs, wide, other);
    expect(count('slice 1')).toBe(4);
  });
});
