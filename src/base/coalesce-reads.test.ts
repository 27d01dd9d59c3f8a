import { describe, expect, it } from 'vitest';
import { coalesceReads } from './coalesce-reads.ts';

function setUp() {
  const groups: number[][] = [];
  const open: { succeed: () => void; fail: () => void }[] = [];
  const read = coalesceReads<number, string>(
    (keys) =>
      new Promise((resolve, reject) => {
        groups.push(keys);
        open.push({
          succeed: () => resolve(new Map(keys.filter((key) => key % 2 === 0).map((key) => [key, `v${key}`]))),
          fail: () => reject(new Error('down')),
        });
      }),
    { maxGroup: 3, maxConcurrent: 2 },
  );
  return { read, groups, open };
}

describe('coalesceReads', () => {
  it('reads at once while it may, and the rest in groups', async () => {
    const { read, groups, open } = setUp();
    const all = Promise.all([2, 3, 4, 5, 6, 7].map((key) => read(key)));
    expect(groups).toEqual([[2], [3]]);
    open[0]!.succeed();
    await expect.poll(() => groups).toEqual([[2], [3], [4, 5, 6]]);
    open[1]!.succeed();
    open[2]!.succeed();
    await expect.poll(() => groups.at(-1)).toEqual([7]);
    open[3]!.succeed();
    expect(await all).toEqual(['v2', undefined, 'v4', undefined, 'v6', undefined]);
  });

  it('rejects the keys of a group that failed, and goes on', async () => {
    const { read, groups, open } = setUp();
    const [first, second, third] = [read(2), read(4), read(6)];
    open[0]!.fail();
    await expect(first).rejects.toThrow('down');
    open[1]!.succeed();
    expect(await second).toBe('v4');
    await expect.poll(() => groups).toHaveLength(3);
    open[2]!.succeed();
    expect(await third).toBe('v6');
  });
});
