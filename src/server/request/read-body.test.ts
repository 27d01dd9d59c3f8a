import type { IncomingMessage } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { countTurns } from '../../../test/support/count-turns.ts';
import { readBody } from './read-body.ts';

let stop = () => {};
afterEach(() => stop());

/** Requests whose bodies of `size` bytes end together; the turns in which they are given. */
async function turnsOf(count: number, size: number): Promise<number[]> {
  const counted = countTurns();
  ({ stop } = counted);
  const given = Array.from({ length: count }, async () => {
    const stream = new PassThrough({ highWaterMark: size * 2 });
    stream.end(Buffer.alloc(size, 'x'));
    const request = Object.assign(stream, { headers: {} }) as unknown as IncomingMessage;
    const body = await readBody(request, 1e9, { reserve: () => {} }, 'org');
    expect(body.length).toBe(size);
    return counted.turn();
  });
  return Promise.all(given);
}

describe('readBody', () => {
  it('gives large bodies that end together one after the other, with others served in between', async () => {
    const turns = await turnsOf(5, 65_536);
    expect(new Set(turns).size).toBe(5);
    expect(turns).toEqual(turns.toSorted((a, b) => a - b));
  });

  it('gives small ones at once', async () => {
    expect(new Set(await turnsOf(5, 65_535)).size).toBe(1);
  });

  it.each([
    ['declared', 300_000],
    ['not declared', undefined],
  ])('puts pieces together as they come, where their length is %s', async (_, declared) => {
    const pieces = Array.from({ length: 30 }, (_each, at) => Buffer.alloc(10_000, at));
    const whole = Buffer.concat(pieces);
    const atOnce = vi.spyOn(Buffer, 'concat');
    try {
      const headers = declared === undefined ? {} : { 'content-length': `${declared}` };
      const request = Object.assign(Readable.from(pieces), { headers }) as unknown as IncomingMessage;
      const body = await readBody(request, 1e9, { reserve: () => {} }, 'org');
      expect(body.equals(whole)).toBe(true);
      // Memory for a declared length is reserved once.
      if (declared !== undefined) expect(body.buffer.byteLength).toBe(declared);
      expect(atOnce).not.toHaveBeenCalled();
    } finally {
      atOnce.mockRestore();
    }
  });
});
