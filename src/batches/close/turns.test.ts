import { describe, expect, it } from 'vitest';
import { Turns } from './turns.ts';

describe('Turns', () => {
  it('runs no more than its number at a time, in the order they came, whatever fails', async () => {
    const turns = new Turns(2);
    const begun: number[] = [];
    const ends: (() => void)[] = [];
    const all = [0, 1, 2, 3].map((n) =>
      turns.run(async () => {
        begun.push(n);
        await new Promise<void>((resolve) => ends.push(resolve));
        if (n === 0) throw new Error('no');
        return n;
      }),
    );
    const results = Promise.allSettled(all);
    const settle = () => new Promise((resolve) => setImmediate(resolve));
    await settle();
    expect(begun).toEqual([0, 1]);
    ends[0]!();
    await settle();
    expect(begun).toEqual([0, 1, 2]);
    for (const end of ends) end();
    await settle();
    for (const end of ends) end();
    expect((await results).map((result) => result.status)).toEqual([
      'rejected',
      'fulfilled',
      'fulfilled',
      'fulfilled',
    ]);
    expect(await turns.run(async () => 'free again')).toBe('free again');
  });
});
