import { describe, expect, it } from 'vitest';
import { createMemoryBlobs } from '../../../test/support/memory-blobs.ts';
import type { ByteRange } from '../../blobs/blobs.ts';
import { ChunkLines, readAhead } from './chunk-lines.ts';
import { fileInput } from './line-input.ts';

const mebibyte = 1024 * 1024;

type Reader = Parameters<typeof fileInput>[0];

/** A chunk of lines at these places. */
function chunk(seq: number, places: readonly ByteRange[], blobs: Reader): ChunkLines {
  const refs = places.map((place, at) => ({ line: seq * 100 + at, ...place }));
  return new ChunkLines(fileInput(blobs, 'blob_1'), refs);
}

function readerOf(slices: Reader['slices']): Reader {
  return { slices };
}

/** Bytes that tell where they stand, the first of a place. */
function storage() {
  const asked: ByteRange[] = [];
  const slices = async (_: string, places: readonly ByteRange[]) => {
    asked.push(...places);
    return places.map(({ offset, length }) => {
      const bytes = new Uint8Array(length);
      for (let at = 0; at < Math.min(length, 10_000); at++) bytes[at] = (offset + at) % 251;
      return bytes;
    });
  };
  return { asked, blobs: readerOf(slices) };
}

describe('readAhead', () => {
  it('reads the lines of several chunks together', async () => {
    const { asked, blobs } = storage();
    const even = chunk(
      1,
      [0, 2_000].map((offset) => ({ offset, length: 300 })),
      blobs,
    );
    const odd = chunk(2, [{ offset: 1_000, length: 300 }], blobs);
    await readAhead([even, odd]);
    expect(asked.map(({ offset }) => offset)).toEqual([0, 2_000, 1_000]);
    expect([even.bytesAhead, odd.bytesAhead]).toEqual([600, 300]);
    expect([even.ahead(101)![0], odd.ahead(200)![0]]).toEqual([2_000 % 251, 1_000 % 251]);
  });

  it('has 16 MiB in hand at most, until their lines are done', async () => {
    const { blobs } = storage();
    const big = (seq: number, size: number) => chunk(seq, [{ offset: 0, length: size * mebibyte }], blobs);
    const first = big(1, 10);
    const [second, third] = [big(2, 7), big(3, 6)];
    await readAhead([first]);
    await readAhead([second, third], [first]);
    expect([first, second, third].map(({ bytesAhead }) => bytesAhead / mebibyte)).toEqual([10, 0, 6]);
    first.forget(100);
    await readAhead([second], [first, third]);
    expect(second.bytesAhead / mebibyte).toBe(7);
  });

  it('gives the memory of a chunk back with its last line, and no other memory', async () => {
    const places = [0, 300].map((offset) => ({ offset, length: 300 }));
    // As a disk reads them: side by side, in one piece.
    const read = new Uint8Array(1_200);
    const blobs = readerOf(async (_, all) =>
      all.map((_place, at) => read.subarray(at * 300, (at + 1) * 300)),
    );
    const [one, other] = [chunk(1, places, blobs), chunk(2, places, blobs)];
    await readAhead([one, other]);
    const held = one.ahead(101)!;
    one.forget(100);
    expect(held.length).toBe(300);
    one.forget(101);
    expect([held.buffer.byteLength, read.buffer.byteLength]).toEqual([0, 1_200]);
    expect([one.bytesAhead, other.bytesAhead]).toEqual([0, 600]);
  });

  it('keeps each line under its number', async () => {
    const { blobs } = storage();
    const places = [0, 300].map((offset) => ({ offset, length: 300 }));
    const [one, other] = [chunk(1, places, blobs), chunk(2, [{ offset: 600, length: 300 }], blobs)];
    await readAhead([one, other]);
    const first = [one.ahead(100), one.ahead(101), other.ahead(200)].map((line) => line?.[0]);
    expect(first).toEqual([0, 300 % 251, 600 % 251]);
  });

  it('leaves unreadable lines to the dispatcher', async () => {
    const held = chunk(
      1,
      [{ offset: 0, length: 10 }],
      readerOf(() => Promise.reject(new Error('damaged'))),
    );
    await readAhead([held]);
    expect(held.bytesAhead).toBe(0);
  });

  it('has lines that are wanted meanwhile wait for it, and reads none a second time', async () => {
    const blobs = createMemoryBlobs();
    const body =
      '{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[]}}';
    blobs.put('blob_1', Buffer.from(body));
    const asked: string[] = [];
    const seen = blobs.gatedBy(async (operation) => void asked.push(operation));
    const ref = { line: 0, offset: 0, length: body.length };
    const lines = new ChunkLines(fileInput(seen, 'blob_1'), [ref]);
    const ahead = readAhead([lines]);
    const [line] = await Promise.all([lines.read(ref), ahead]);
    expect([line.customId, asked]).toEqual(['a', ['slices']]);
  });
});
