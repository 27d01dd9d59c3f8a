import { describe, expect, it } from 'vitest';
import type { BlobWriter } from '../blobs/blobs.ts';
import { bufferedWriter } from './buffered-writer.ts';

/** A writer whose writes end on demand. */
function slowWriter() {
  const written: Uint8Array[] = [];
  const ends: { resolve: () => void; reject: (error: Error) => void }[] = [];
  const calls: string[] = [];
  const writer: BlobWriter = {
    bufferedBytes: 0,
    async write(chunk) {
      calls.push('write');
      await new Promise<void>((resolve, reject) => ends.push({ resolve, reject }));
      // Only now, as a disk does.
      written.push(new Uint8Array(chunk));
    },
    commit: async () => void calls.push('commit'),
    abort: async () => void calls.push('abort'),
  };
  return { writer, written, ends, calls };
}

const bytes = (length: number, from = 0) => Uint8Array.from({ length }, (_, at) => (from + at) % 251);

describe('a gathered writer', () => {
  it('passes on in few large pieces what comes in many small ones, to the byte', async () => {
    const { writer, written, ends, calls } = slowWriter();
    const all = bytes(1_000_000);
    const small = bufferedWriter(writer);
    const work = (async () => {
      for (let at = 0; at < all.length; at += 997) await small.write(all.subarray(at, at + 997));
      await small.commit();
    })();
    while (calls.at(-1) !== 'commit') {
      await new Promise((resolve) => setImmediate(resolve));
      ends.shift()?.resolve();
    }
    await work;
    expect(Buffer.concat(written).equals(all)).toBe(true);
    expect(written.length).toBeLessThanOrEqual(4);
    expect(small.bufferedBytes).toBeLessThanOrEqual(600_000);
  });

  it('tells at the commit that a write failed before it, and commits nothing', async () => {
    const { writer, ends, calls } = slowWriter();
    const small = bufferedWriter(writer);
    await small.write(bytes(300_000));
    const commit = small.commit();
    ends.shift()?.reject(new Error('no space'));
    await expect(commit).rejects.toThrow('no space');
    expect(calls).toEqual(['write']);
  });

  it('aborts only when nothing is being written any more, whatever becomes of that', async () => {
    const { writer, ends, calls } = slowWriter();
    const small = bufferedWriter(writer);
    await small.write(bytes(300_000));
    const abort = small.abort();
    expect(calls).toEqual(['write']);
    ends.shift()?.reject(new Error('no space'));
    await abort;
    expect(calls).toEqual(['write', 'abort']);
  });
});
