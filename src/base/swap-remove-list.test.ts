import { describe, expect, it } from 'vitest';
import { type ListEntry, addEntry, removeEntry } from './swap-remove-list.ts';

interface Named extends ListEntry {
  name: string;
}

describe('an unordered list', () => {
  it('holds the added entries without the removed ones, in any order', () => {
    const list: Named[] = [];
    const all = ['a', 'b', 'c', 'd', 'e', 'f'].map((name): Named => ({ name, index: -1 }));
    const names = () =>
      list
        .map(({ name }) => name)
        .toSorted()
        .join('');
    for (const one of all) addEntry(list, one);
    for (const [at, left] of [
      [0, 'bcdef'],
      [5, 'bcde'],
      [2, 'bde'],
    ] as const) {
      removeEntry(list, all[at]!);
      expect([names(), list.every((one, place) => one.index === place)]).toEqual([left, true]);
    }
    addEntry(list, all[2]!);
    for (const at of [1, 3, 4, 2]) removeEntry(list, all[at]!);
    expect(list).toEqual([]);
    expect(removeEntry(list, all[0]!)).toBe(false);
  });
});
