import { beforeEach, describe, expect, test } from 'vitest';
import type { Blobs } from '../../src/blobs/blobs.ts';

/** Storage under a `Blobs`, as seen from outside. Paths are relative, such as `a7/blob_...`. */
export interface BlobsPlace {
  /** Creates a `Blobs` that is not started. */
  make(): Blobs;
  /** Creates and starts a `Blobs`. */
  open(): Promise<Blobs>;
  /** Paths of everything stored. */
  kept(): string[];
  leave(at: string, text: string): Promise<void> | void;
  cut(at: string, length: number): Promise<void> | void;
  date(at: string, modifiedAt: number): Promise<void> | void;
}

export const name = `blob_${'0'.repeat(30)}a7`;
export const other = `blob_${'1'.repeat(32)}`;

export async function put(blobs: Blobs, blob: string, ...chunks: Uint8Array[]): Promise<void> {
  const writer = await blobs.create(blob);
  for (const chunk of chunks) await writer.write(chunk);
  await writer.commit();
}

export async function collect(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const most = Buffer.from(Uint32Array.from({ length: 5_000_000 }, (_, i) => i).buffer);

/** Bytes without repetition, so that a wrong offset shows. */
export const pattern = (length: number) => most.subarray(0, length);

/** Tests for every kind of store. `fresh` makes an empty place, which the caller removes. */
export function blobsConformance(title: string, fresh: () => BlobsPlace): void {
  describe(title, () => {
    let place: BlobsPlace;
    beforeEach(() => {
      place = fresh();
    });

    describe('a blob', () => {
      test('is read back whole and by ranges', async () => {
        const blobs = await place.open();
        const bytes = pattern(1_000_000);
        await put(blobs, name, bytes.subarray(0, 10), bytes.subarray(10, 700_000), bytes.subarray(700_000));
        expect(await blobs.size(name)).toBe(1_000_000);
        expect(bytes.equals(await collect(await blobs.read(name)))).toBe(true);
        for (const [start, end] of [
          [0, 1],
          [262_143, 262_145],
          [999_999, 1_000_000],
          [5, 5],
          [300_000, 900_001],
        ] as const)
          expect(
            bytes.subarray(start, end).equals(await collect(await blobs.read(name, { start, end }))),
          ).toBe(true);
        expect(
          bytes.subarray(400_000).equals(await collect(await blobs.read(name, { start: 400_000 }))),
        ).toBe(true);
      });

      test('is read in chunks of at most 256 KiB', async () => {
        const blobs = await place.open();
        await put(blobs, name, pattern(600_000));
        const sizes: number[] = [];
        for await (const chunk of await blobs.read(name)) sizes.push(chunk.byteLength);
        expect(sizes).toEqual([262_144, 262_144, 75_712]);
      });

      test('may be empty', async () => {
        const blobs = await place.open();
        await put(blobs, name);
        expect(await blobs.size(name)).toBe(0);
        expect(await collect(await blobs.read(name))).toHaveLength(0);
      });

      test('returns exact slices or an error', async () => {
        const blobs = await place.open();
        const bytes = pattern(1_000);
        await put(blobs, name, bytes);
        expect(bytes.subarray(990, 1_000).equals(await blobs.slice(name, 990, 10))).toBe(true);
        expect(await blobs.slice(name, 0, 0)).toHaveLength(0);
        await expect(blobs.slice(name, 990, 11)).rejects.toThrow('ends at byte 1000, before byte 1001');
      });

      test('returns many slices in the given order, all or none', async () => {
        const blobs = await place.open();
        const bytes = pattern(4_000_000);
        await put(blobs, name, bytes);
        const places = [
          { offset: 3_999_990, length: 10 },
          { offset: 0, length: 0 },
          { offset: 3, length: 500 },
          { offset: 400, length: 200_000 },
          { offset: 1_000_000, length: 2_000_000 },
          { offset: 3, length: 500 },
        ];
        const slices = await blobs.slices(name, places);
        expect(slices).toHaveLength(places.length);
        for (const [at, { offset, length }] of places.entries())
          expect(bytes.subarray(offset, offset + length).equals(slices[at]!)).toBe(true);
        await expect(blobs.slices(name, [...places, { offset: 3_999_999, length: 2 }])).rejects.toThrow(
          'ends at byte 4000000, before byte 4000001',
        );
        expect(await blobs.slices(name, [])).toEqual([]);
      });

      test('does not exist before its commit and survives a restart after it', async () => {
        const blobs = await place.open();
        const writer = await blobs.create(name);
        await writer.write(pattern(8));
        expect(await blobs.size(name)).toBeUndefined();
        await expect(blobs.read(name)).rejects.toThrow(`The blob ${name} is missing.`);
        await writer.commit();
        const again = await place.open();
        expect(await again.size(name)).toBe(8);
      });

      test('leaves no trace when it is aborted', async () => {
        const blobs = await place.open();
        const writer = await blobs.create(name);
        await writer.write(pattern(8));
        await writer.abort();
        await writer.abort();
        expect(place.kept()).toEqual([]);
        await expect(writer.write(pattern(8))).rejects.toThrow('committed, aborted or failed already');
      });

      test('stays when it is aborted after the commit', async () => {
        const blobs = await place.open();
        const writer = await blobs.create(name);
        await writer.commit();
        await writer.abort();
        expect(await blobs.size(name)).toBe(0);
      });

      test('is missing after its removal, and can be removed twice', async () => {
        const blobs = await place.open();
        await put(blobs, name, pattern(8));
        await put(blobs, `${name}.index`, pattern(4));
        await blobs.remove(name);
        await blobs.remove(name);
        expect(await blobs.size(name)).toBeUndefined();
        expect(await blobs.size(`${name}.index`)).toBe(4);
      });

      test('that was truncated from outside fails instead of returning fewer bytes', async () => {
        const blobs = await place.open();
        await put(blobs, name, pattern(3_000_000));
        const stream = await blobs.read(name);
        const iterator = stream[Symbol.asyncIterator]();
        await iterator.next();
        await place.cut(`a7/${name}`, 1_500_000);
        await expect(
          (async () => {
            while (!(await iterator.next()).done);
          })(),
        ).rejects.toThrow('ends at byte 1500000');
        await expect(blobs.read(name, { end: 3_000_000 })).rejects.toThrow('ends at byte 1500000');
      });
    });

    test.each([
      '',
      'blob_',
      '../../etc/passwd',
      `blob_${'0'.repeat(31)}`,
      `blob_${'0'.repeat(33)}`,
      `${name}/..`,
      `${name}.txt`,
      `blob_${'A'.repeat(32)}`,
      `${name}\n`,
      `${name}\0`,
      `${name}.index.index`,
    ])('the name %j is refused by every operation', async (bad) => {
      const blobs = await place.open();
      await expect(blobs.create(bad)).rejects.toThrow('Invalid blob name');
      await expect(blobs.read(bad)).rejects.toThrow('Invalid blob name');
      await expect(blobs.slice(bad, 0, 1)).rejects.toThrow('Invalid blob name');
      await expect(blobs.size(bad)).rejects.toThrow('Invalid blob name');
      await expect(blobs.remove(bad)).rejects.toThrow('Invalid blob name');
      await expect(blobs.quarantine(bad, 0)).rejects.toThrow('Invalid blob name');
      await expect(blobs.restore(bad)).rejects.toThrow('Invalid blob name');
      expect(place.kept()).toEqual([]);
    });

    test('lists only committed blobs, with their modification times', async () => {
      const blobs = await place.open();
      await put(blobs, name, pattern(8));
      await put(blobs, `${name}.index`, pattern(8));
      await put(blobs, other, pattern(8));
      const writer = await blobs.create(`blob_${'2'.repeat(32)}`);
      await place.leave('a7/notes.txt', 'not ours');
      await place.date(`11/${other}`, 1_000_000);
      const listed = new Map<string, number>();
      for await (const { name: found, modifiedAt } of blobs.list()) listed.set(found, modifiedAt);
      expect([...listed.keys()].toSorted()).toEqual([name, `${name}.index`, other].toSorted());
      expect(listed.get(other)).toBe(1_000_000);
      expect(Number.isInteger(listed.get(name))).toBe(true);
      await writer.abort();
    });

    describe('a quarantined blob', () => {
      async function aside(blobs: Blobs) {
        const found: { name: string; since: number }[] = [];
        for await (const each of blobs.listQuarantined()) found.push(each);
        return found;
      }

      test('is missing, listed with its time, and restored whole', async () => {
        const blobs = await place.open();
        expect(await aside(blobs)).toEqual([]);
        await put(blobs, name, pattern(8));
        await blobs.quarantine(name, 1_234_567_890);
        await expect(blobs.read(name)).rejects.toMatchObject({ code: 'missing' });
        expect(await blobs.size(name)).toBeUndefined();
        expect(await blobs.list()[Symbol.asyncIterator]().next()).toMatchObject({ done: true });
        expect(await aside(await place.open())).toEqual([{ name, since: 1_234_567_890 }]);
        await put(blobs, `${name}.index`, pattern(4));
        await blobs.quarantine(`${name}.index`, 5);
        await blobs.restore(name);
        expect(await aside(blobs)).toEqual([{ name: `${name}.index`, since: 5 }]);
        expect(pattern(8).equals(await blobs.slice(name, 0, 8))).toBe(true);
      });

      test('is removed like any other', async () => {
        const blobs = await place.open();
        await put(blobs, name, pattern(8));
        await blobs.quarantine(name, 1_000);
        await blobs.remove(name);
        expect(place.kept()).toEqual([]);
      });

      test('can be quarantined and restored twice at the same time', async () => {
        const blobs = await place.open();
        await put(blobs, name, pattern(8));
        await Promise.all([blobs.quarantine(name, 1_000), blobs.quarantine(name, 1_000)]);
        await Promise.all([blobs.restore(name), blobs.restore(name)]);
        await blobs.quarantine(other, 1_000);
        await blobs.restore(other);
        expect(await blobs.size(name)).toBe(8);
      });
    });

    test('the label lasts until it is overwritten', async () => {
      const blobs = await place.open();
      expect(await blobs.readLabel()).toBeUndefined();
      await blobs.label('inst_1');
      expect(await (await place.open()).readLabel()).toBe('inst_1');
      await blobs.label('inst_2');
      expect(await blobs.readLabel()).toBe('inst_2');
      expect(place.kept()).toEqual(['installation']);
    });

    test('start and stop can be called any number of times in any order', async () => {
      const blobs = place.make();
      await blobs.stop();
      await Promise.all([blobs.start(), blobs.start(), blobs.stop()]).catch(() => {});
      await blobs.start();
      await blobs.ping();
      await blobs.stop();
      await blobs.stop();
      expect(place.kept()).toEqual([]);
    });

    test('content that looks like a response of a store is stored unchanged', async () => {
      const blobs = await place.open();
      const bytes = Buffer.from('<?xml version="1.0"?><Error><Code>InternalError</Code></Error>');
      await put(blobs, name, bytes);
      expect(bytes.equals(await blobs.slice(name, 0, bytes.length))).toBe(true);
      expect(bytes.equals(await collect(await blobs.read(name)))).toBe(true);
    });

    test('a caller may reuse the memory of a chunk after its write', async () => {
      const blobs = await place.open();
      const memory = Buffer.from('first');
      const writer = await blobs.create(name);
      await writer.write(memory);
      memory.write('other');
      await writer.write(memory);
      await writer.commit();
      expect(String(await blobs.slice(name, 0, 10))).toBe('firstother');
    });

    test('a removed blob is missing, a truncated one is damaged', async () => {
      const blobs = await place.open();
      await put(blobs, name, pattern(8));
      await expect(blobs.slice(other, 0, 1)).rejects.toMatchObject({ code: 'missing' });
      await expect(blobs.read(other)).rejects.toMatchObject({ code: 'missing' });
      await expect(blobs.slice(name, 0, 9)).rejects.toMatchObject({ code: 'damaged' });
      await expect(blobs.read(name, { end: 9 })).rejects.toMatchObject({ code: 'damaged' });
    });
  });
}
