import { describe, expect, it } from 'vitest';
import { type Listed, putIn, takeOut } from './unordered.ts';

interface Named extends Listed {
  name: string;
}

describe('an unordered list', () => {
  it('holds what was put in and not taken out, whatever the order', () => {
    const list: Named[] = [];
    const all = ['a', 'b', 'c', 'd', 'e', 'f'].map((name): Named => ({ name, place: -1 }));
    const names = () =>
      list
        .map(({ name }) => name)
        .toSorted()
        .join('');
    for (const one of all) putIn(list, one);
    for (const [at, left] of [
      [0, 'bcdef'],
      [5, 'bcde'],
      [2, 'bde'],
    ] as const) {
      takeOut(list, all[at]!);
      expect([names(), list.every((one, place) => one.place === place)]).toEqual([left, true]);
    }
    putIn(list, all[2]!);
    for (const at of [1, 3, 4, 2]) takeOut(list, all[at]!);
    expect(list).toEqual([]);
    expect(takeOut(list, all[0]!)).toBe(false);
  });
});
