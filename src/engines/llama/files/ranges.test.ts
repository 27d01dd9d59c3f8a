import { tuple, array, assert, integer, nat, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Range, addRange, bytesIn, missingPieces } from './ranges.ts';

const size = 40;
const range = tuple(nat(size), nat(size)).map(([a, b]) => ({ start: Math.min(a, b), end: Math.max(a, b) }));

/** Which bytes are in, one by one. */
function bits(ranges: readonly Range[]): boolean[] {
  return Array.from({ length: size }, (_, at) => ranges.some(({ start, end }) => start <= at && at < end));
}

describe('ranges', () => {
  it('have the added bytes, in order and without overlap', () => {
    assert(
      property(array(range), (added) => {
        const ranges = added.reduce<Range[]>(addRange, []);
        expect(bits(ranges)).toEqual(bits(added));
        expect(bytesIn(ranges)).toBe(bits(added).filter(Boolean).length);
        for (const [i, { start, end }] of ranges.entries()) {
          expect(start).toBeLessThan(end);
          if (i > 0) expect(start).toBeGreaterThan(ranges[i - 1]!.end);
        }
      }),
    );
  });

  it('leave pieces that fill every gap and nothing else', () => {
    assert(
      property(array(range), integer({ min: 1, max: size }), (added, pieceBytes) => {
        const ranges = added.reduce<Range[]>(addRange, []);
        const pieces = missingPieces(ranges, size, pieceBytes);
        expect(bits(pieces)).toEqual(bits(ranges).map((isDone) => !isDone));
        expect(bytesIn(pieces)).toBe(size - bytesIn(ranges));
        for (const { start, end } of pieces) expect(end - start).toBeLessThanOrEqual(pieceBytes);
      }),
    );
  });
});
