import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buffersOf, packRows, unpackRows } from './packed-rows.ts';

const plain = fc.record({
  line: fc.nat(),
  code: fc.option(fc.string()),
  usage: fc.record({ inputTokens: fc.nat() }),
  lines: fc.array(fc.nat()),
});

/** As a message does it. */
function across(value: unknown): unknown {
  const packed = packRows(value);
  return unpackRows(structuredClone(packed, { transfer: buffersOf([packed]) }));
}

describe('rows between the threads', () => {
  it('arrive as they were sent', () => {
    fc.assert(
      fc.property(fc.array(plain, { maxLength: 20 }), (rows) => {
        expect(across(rows)).toEqual(rows);
      }),
    );
  });

  it('arrive with their bodies, whatever buffer those stood in, and can be sent again', () => {
    const body = fc.tuple(fc.uint8Array(), fc.nat({ max: 5 })).map(([bytes, before]) => {
      const pool = new Uint8Array(before + bytes.length + 3);
      pool.set(bytes, before);
      return pool.subarray(before, before + bytes.length);
    });
    const row = fc.tuple(plain, body).map(([fields, bytes]) => ({ ...fields, body: bytes }));
    fc.assert(
      fc.property(fc.array(row, { maxLength: 20 }), (rows) => {
        expect(across(rows)).toEqual(rows);
        expect(across(rows)).toEqual(rows);
      }),
    );
  });

  it('move in one buffer', () => {
    const rows = Array.from({ length: 10 }, (_, line) => ({ line, body: Uint8Array.of(line, line) }));
    const [buffer, ...others] = buffersOf(['worker', packRows(rows), 7]);
    expect(buffer?.byteLength).toBe(20);
    expect(others).toEqual([]);
  });

  it('leaves alone what is no list of rows, and lists too short to be worth it', () => {
    const values = [
      undefined,
      null,
      'text',
      Uint8Array.of(1),
      { rows: [] },
      [{ a: 1 }],
      Array(9).fill('id'),
      Array.from({ length: 9 }, () => Uint8Array.of(1)),
      [...Array.from({ length: 9 }, () => ({ a: 1 })), null],
    ];
    for (const value of values) expect(packRows(value)).toBe(value);
    expect(buffersOf(values)).toEqual([]);
  });
});
