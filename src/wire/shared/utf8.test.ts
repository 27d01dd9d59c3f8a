import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeUtf8 } from './utf8.ts';

describe('decodeUtf8', () => {
  it('B07: returns any well-formed text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(decodeUtf8(new TextEncoder().encode(text))).toBe(text);
      }),
    );
  });

  it.each([
    ['a stray byte', [0x61, 0xff, 0x62], 1],
    ['an overlong form', [0x61, 0x62, 0xc0, 0x80], 2],
    ['a surrogate', [0xed, 0xa0, 0x80], 1],
    ['a lead byte without its tail', [0x61, 0xe2, 0x82, 0x62], 3],
    ['a character cut off at the end', [0x61, 0x62, 0xe2, 0x82], 2],
    ['a lead byte at the end', [0x61, 0xf0], 1],
    ['a lone continuation byte', [0x80], 0],
  ])('B07: gives the position of %s', (_, bytes, at) => {
    expect(decodeUtf8(Uint8Array.from(bytes))).toEqual({ invalidAt: at });
  });

  it('keeps a byte order mark', () => {
    expect(decodeUtf8(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61))).toBe('\ufeffa');
  });
});
