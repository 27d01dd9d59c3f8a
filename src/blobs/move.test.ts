import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { createMemoryBlobs, type MemoryBlobs } from '../../test/support/memory-blobs.ts';
import type { Blobs } from './blobs.ts';
import { type BlobSum, moveBlobs } from './move.ts';

const nameOf = (at: number) => `blob_${at.toString(16).padStart(32, '0')}`;
const names = [...Array.from({ length: 12 }, (_, at) => nameOf(at * 37)), `${nameOf(0)}.index`];
const bytesOf = (name: string) => Buffer.from(`${name}\n`.repeat(200));
const sumOf = (bytes: Uint8Array): BlobSum => ({
  bytes: bytes.length,
  sha256: createHash('sha256').update(bytes).digest('hex'),
});

let source: MemoryBlobs;
let target: MemoryBlobs;
/** Rows of the database. The index has none. */
let rows: Map<string, BlobSum>;

beforeEach(() => {
  [source, target] = [createMemoryBlobs(), createMemoryBlobs()];
  for (const name of names) source.put(name, bytesOf(name));
  rows = new Map(names.slice(0, -1).map((name) => [name, sumOf(bytesOf(name))]));
});

interface Run {
  from?: Blobs;
  to?: Blobs;
  removes?: boolean;
}

const move = ({ from = source, to = target, removes = false }: Run = {}) =>
  moveBlobs({
    source: from,
    target: to,
    sums: async (ids) => new Map([...rows].filter(([id]) => ids.includes(id))),
    removes,
    signal: new AbortController().signal,
    onProgress: () => {},
  });

/** True if the blobs are those of the beginning. */
const isWhole = (blobs: MemoryBlobs) =>
  blobs.stored.size === names.length &&
  names.every((name) => bytesOf(name).equals(blobs.stored.get(name) ?? Buffer.alloc(0)));

describe('moveBlobs', () => {
  it('copies every blob once, and verifies all of them each time', async () => {
    const done = { share: 1, removed: 0, damaged: [], failed: [] };
    const copiedBytes = names.reduce((sum, name) => sum + bytesOf(name).length, 0);
    expect(await move()).toEqual({ ...done, copied: 13, copiedBytes, present: 0 });
    expect(isWhole(target) && isWhole(source)).toBe(true);
    expect(await move()).toEqual({ ...done, copied: 0, copiedBytes: 0, present: 13 });
  });

  it.each([false, true])(
    'goes on after an end at any moment, and each blob is whole in one store (removes: %s)',
    async (removes) => {
      for (let last = 1; ; last++) {
        let calls = 0;
        const turn = async () => {
          if (++calls >= last) throw new Error('killed');
        };
        const ended = await move({ from: source.gatedBy(turn), to: target.gatedBy(turn), removes }).then(
          () => 'done',
          (error: Error) => error.message,
        );
        for (const name of names) {
          const found = source.stored.get(name) ?? target.stored.get(name);
          expect(found && bytesOf(name).equals(found)).toBe(true);
        }
        if (ended === 'done') break;
      }
      expect(isWhole(target)).toBe(true);
      expect(source.stored.size).toBe(removes ? 0 : names.length);
    },
  );

  it('removes a copy that reads differently, and leaves the blob where it was', async () => {
    const [bad] = names;
    const lying = target.gatedBy(async (operation, name) => {
      if (operation === 'read' && name === bad) target.put(bad, Buffer.from('x'));
    });
    expect(await move({ to: lying, removes: true })).toMatchObject({
      failed: [bad],
      copied: 12,
      removed: 12,
    });
    expect([target.stored.has(bad!), source.stored.has(bad!)]).toEqual([false, true]);
    await move({ removes: true });
    expect(isWhole(target)).toBe(true);
  });

  it('replaces a copy that is cut or changed', async () => {
    const [cut, changed] = names as [string, string];
    target.put(cut, bytesOf(cut).subarray(1));
    target.put(changed, bytesOf(changed).fill(0, 5, 6));
    target.put(`${nameOf(0)}.index`, Buffer.alloc(bytesOf(`${nameOf(0)}.index`).length));
    expect(await move()).toMatchObject({ copied: 13, present: 0 });
    expect(isWhole(target)).toBe(true);
  });

  it('reports a blob that is not what the database says, and never removes it', async () => {
    const [bad] = names;
    source.put(bad!, Buffer.from('damaged'));
    expect(await move({ removes: true })).toMatchObject({ damaged: [bad], copied: 13, removed: 12 });
    expect([...source.stored.keys()]).toEqual([bad]);
  });

  it('keeps an intact copy of a blob that is damaged at its source', async () => {
    const [bad] = names;
    await move();
    source.put(bad!, Buffer.from('damaged'));
    expect(await move({ removes: true })).toMatchObject({ damaged: [], present: 13, removed: 13 });
    expect(isWhole(target)).toBe(true);
  });

  it('does not bring back a file that is deleted while it is copied', async () => {
    const [gone] = names;
    const deleting = target.gatedBy(async (operation, name) => {
      if (operation !== 'commit' || name !== gone) return;
      rows.delete(gone);
      await source.remove(gone);
      await target.remove(gone);
    });
    await move({ to: deleting });
    expect([...target.stored.keys()].toSorted()).toEqual(names.slice(1).toSorted());
  });

  it('leaves nothing of a blob that is gone when it is read, and keeps one that another run has moved', async () => {
    const [gone, moved] = names as [string, string];
    const changing = source.gatedBy(async (operation, name) => {
      if (operation === 'read' && name === gone) await source.remove(gone);
      if (operation !== 'size' || name !== moved) return;
      await source.remove(moved);
    });
    await move({ from: changing });
    expect([target.stored.has(gone), target.stored.has(moved)]).toEqual([false, true]);
  });

  it('holds eight blobs at a time', async () => {
    let open = 0;
    let most = 0;
    const counting = target.gatedBy(async (operation) => {
      if (operation === 'create') most = Math.max(most, ++open);
      await new Promise(setImmediate);
      if (operation === 'commit') open--;
    });
    await move({ to: counting });
    expect(most).toBe(8);
  });
});
