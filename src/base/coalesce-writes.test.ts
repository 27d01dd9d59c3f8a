import { describe, expect, it } from 'vitest';
import { coalesceWrites } from './coalesce-writes.ts';

/** Keeps what is written, each group when it is let through. */
function createSink(isBad: (value: number) => boolean = () => false) {
  const groups: number[][] = [];
  const gates: (() => void)[] = [];
  const write = async (values: number[]) => {
    groups.push(values);
    await new Promise<void>((resolve) => gates.push(resolve));
    if (values.some(isBad)) throw new Error(`cannot write ${values.join(', ')}`);
  };
  const letThrough = async () => {
    while (gates.length > 0) {
      gates.shift()!();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { groups, write, letThrough };
}

describe('coalesceWrites', () => {
  it('writes the first value at once, and all values that arrive meanwhile together', async () => {
    const { groups, write, letThrough } = createSink();
    const put = coalesceWrites(write, 10);
    const all = Promise.all([1, 2, 3, 4].map(put));
    expect(groups).toEqual([[1]]);
    await letThrough();
    await all;
    expect(groups).toEqual([[1], [2, 3, 4]]);
    const late = put(5);
    await letThrough();
    await late;
    expect(groups.at(-1)).toEqual([5]);
  });

  it('resolves only when the value is written', async () => {
    const { write, letThrough } = createSink();
    let isWritten = false;
    const writing = coalesceWrites(write, 10)(1).then(() => (isWritten = true));
    await Promise.resolve();
    expect(isWritten).toBe(false);
    await letThrough();
    await writing;
    expect(isWritten).toBe(true);
  });

  it('limits the size of a group', async () => {
    const { groups, write, letThrough } = createSink();
    const put = coalesceWrites(write, 2);
    const all = Promise.all([1, 2, 3, 4, 5, 6].map(put));
    await letThrough();
    await all;
    expect(groups).toEqual([[1], [2, 3], [4, 5], [6]]);
  });

  it('rejects only the value that cannot be written', async () => {
    const { write, letThrough } = createSink((value) => value === 3);
    const put = coalesceWrites(write, 10);
    const all = Promise.allSettled([1, 2, 3, 4].map(put));
    await letThrough();
    const outcomes = await all;
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[2]).toMatchObject({ reason: new Error('cannot write 3') });
  });

  it('rewrites the values of a failed group concurrently', async () => {
    let waits = 0;
    const put = coalesceWrites(async () => {
      waits++;
      await Promise.resolve();
      throw new Error('away');
    }, 10);
    const order: string[] = [];
    const all = [1, 2, 3].map((n) => put(n).catch(() => order.push(`${n} after ${waits}`)));
    await Promise.all(all);
    // The first, the group, and both values of the group at the same time.
    expect(order).toEqual(['1 after 1', '2 after 4', '3 after 4']);
  });
});
