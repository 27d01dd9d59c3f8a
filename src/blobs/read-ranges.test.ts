import { expect, it } from 'vitest';
import type { ByteRange } from './blobs.ts';
import { readRanges } from './read-ranges.ts';

/** Storage whose bytes depend on their offset, with a record of reads. */
function storage() {
  const read: ByteRange[] = [];
  const get = async (offset: number, length: number) => {
    read.push({ offset, length });
    return Uint8Array.from({ length }, (_, at) => (offset + at) % 251);
  };
  return { read, get };
}

const gap = 16 * 1024;
const of = (length: number, ...offsets: number[]) => offsets.map((offset) => ({ offset, length }));

it('reads close ranges together, without keeping the gaps, and returns the given order', async () => {
  const { read, get } = storage();
  const found = await readRanges(of(300, 4_000, 0, 90_000, 2_000, 1_000, 3_000), gap, get);
  expect(read).toEqual([
    { offset: 0, length: 4_300 },
    { offset: 90_000, length: 300 },
  ]);
  expect(found.map((bytes) => [bytes.length, bytes[0], bytes[299]])).toEqual(
    [4_000, 0, 90_000, 2_000, 1_000, 3_000].map((at) => [300, at % 251, (at + 299) % 251]),
  );
  expect(found[0]!.buffer.byteLength).toBe(1_500);
});

it('shares one buffer where the gaps are small', async () => {
  const { get } = storage();
  const [first, second] = await readRanges(of(300, 0, 310), gap, get);
  expect([first!.buffer === second!.buffer, second![0]]).toEqual([true, 310 % 251]);
});

it('reads at most a mebibyte at a time, and nothing for empty ranges', async () => {
  const { read, get } = storage();
  const places = of(400_000, 0, 400_000, 800_000, 1_200_000, 1_600_000);
  const found = await readRanges([...places, { offset: 7, length: 0 }], gap, get);
  expect(read.map(({ length }) => length)).toEqual([800_000, 800_000, 400_000]);
  expect(found.at(-1)).toHaveLength(0);
});

it('reads overlapping ranges', async () => {
  const { read, get } = storage();
  const found = await readRanges([...of(500, 0), ...of(10, 100, 495)], gap, get);
  expect(read).toEqual([{ offset: 0, length: 505 }]);
  expect(found.map((bytes) => [bytes.length, bytes[0]])).toEqual([
    [500, 0],
    [10, 100],
    [10, 495 % 251],
  ]);
});
