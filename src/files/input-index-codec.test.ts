import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeIndex, encodeIndex } from './input-index-codec.ts';
import { type InputIndex, lineRefAt, prefixLevels } from './input-index.ts';

const u32 = fc.nat({ max: 0xffffffff });
const anyIndex: fc.Arbitrary<InputIndex> = fc
  .tuple(fc.array(fc.string(), { minLength: 1, maxLength: 5 }), fc.nat({ max: 20 }))
  .chain(([models, count]) => {
    const column = (item: fc.Arbitrary<number>, length = count) =>
      fc.array(item, { minLength: length, maxLength: length });
    return fc.record({
      count: fc.constant(count),
      models: fc.constant(models),
      offset: column(fc.nat({ max: Number.MAX_SAFE_INTEGER })).map((items) => Float64Array.from(items)),
      length: column(u32).map((items) => Uint32Array.from(items)),
      est: column(u32).map((items) => Uint32Array.from(items)),
      model: column(fc.nat({ max: 0xffff })).map((items) => Uint16Array.from(items)),
      hashes: column(u32, count * prefixLevels).map((items) => Uint32Array.from(items)),
      sum: column(u32).map((items) => Uint32Array.from(items)),
    });
  });

const small: InputIndex = {
  count: 1,
  models: ['tiny'],
  offset: Float64Array.of(0),
  length: Uint32Array.of(10),
  est: Uint32Array.of(5),
  model: Uint16Array.of(0),
  hashes: new Uint32Array(prefixLevels),
};

describe('the index of an input file', () => {
  it('has numbers for the place of a line that is past its end, too', () => {
    expect(lineRefAt(small, 0)).toEqual({ line: 0, offset: 0, length: 10 });
    expect(lineRefAt(small, 1)).toEqual({ line: 1, offset: 0, length: 0 });
  });

  it('survives being written and read, wherever it stands in memory', () => {
    fc.assert(
      fc.property(anyIndex, fc.nat({ max: 7 }), (index, shift) => {
        const bytes = encodeIndex(index);
        const moved = new Uint8Array(bytes.length + shift);
        moved.set(bytes, shift);
        expect(decodeIndex(moved.subarray(shift))).toEqual(index);
      }),
    );
  });

  it('that was written before there were sums is read without them', () => {
    expect(decodeIndex(encodeIndex(small))).toEqual(small);
  });

  it('takes fifty-four bytes a line', () => {
    const count = 10_000;
    const index = {
      count,
      models: ['tiny'],
      offset: new Float64Array(count),
      length: new Uint32Array(count),
      est: new Uint32Array(count),
      model: new Uint16Array(count),
      hashes: new Uint32Array(count * prefixLevels),
      sum: new Uint32Array(count),
    };
    expect(encodeIndex(index).length / count).toBeLessThan(55);
  });

  it('F52: refuses every damaged byte, and every cut', () => {
    const bytes = encodeIndex({ ...small, sum: Uint32Array.of(7) });
    for (let at = 0; at < bytes.length; at += 1) {
      const bad = bytes.slice();
      bad[at]! ^= 0x10;
      // Bytes 20 to 23 of the header are not used.
      if (at < 20 || at > 23) expect(() => decodeIndex(bad), `byte ${at}`).toThrow(/cannot be read/);
      expect(() => decodeIndex(bytes.subarray(0, at))).toThrow(/cannot be read/);
    }
  });
});
