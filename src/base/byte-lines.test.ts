import { array, assert, asyncProperty, constantFrom, integer } from 'fast-check';
import { expect, it } from 'vitest';
import { parseLine, splitLines } from './byte-lines.ts';

async function* inChunks(bytes: Uint8Array, sizes: number[]): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (let i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? 1;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

it('preserves all bytes for any chunking', async () => {
  await assert(
    asyncProperty(
      array(constantFrom(0x0a, 0x0d, 0x61, 0xff), { maxLength: 60 }),
      array(integer({ min: 1, max: 9 }), { minLength: 1 }),
      async (values, sizes) => {
        const bytes = Uint8Array.from(values);
        const joined: number[] = [];
        for await (const line of splitLines(inChunks(bytes, sizes))) {
          expect(line.offset).toBe(joined.length);
          expect(line.bytes.includes(0x0a)).toBe(false);
          joined.push(...line.bytes, ...(line.whole ? [0x0a] : []));
        }
        expect(joined).toEqual(values);
      },
    ),
  );
});

it.each([
  ['{"a":1}', { a: 1 }],
  ['1', undefined],
  ['null', undefined],
  ['{"a"', undefined],
])('reads %s', (text, value) => expect(parseLine(Buffer.from(text))).toEqual(value));
