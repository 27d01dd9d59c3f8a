import { describe, expect, it } from 'vitest';
import { diffWords } from './diff.ts';

const shown = (before: string, after: string) =>
  diffWords(before, after)
    ?.map(({ kind, text }) => ({ same: text, removed: `-[${text}]`, added: `+[${text}]` })[kind])
    .join('');

describe('diffWords', () => {
  it.each([
    ['', '', ''],
    ['a b c', 'a b c', 'a b c'],
    ['a b c', 'a x c', 'a -[b ]+[x ]c'],
    ['', 'new', '+[new]'],
    ['old', '', '-[old]'],
    ['one two three four', 'two three five', '-[one ]two three -[four]+[five]'],
  ])('compares %j with %j', (before, after, expected) => {
    expect(shown(before, after)).toBe(expected);
  });

  it('keeps both texts whole', () => {
    const [before, after] = ['the quick  brown\nfox', 'a quick brown\nfox jumps'];
    const parts = diffWords(before, after)!;
    const without = (kind: string) =>
      parts
        .filter((part) => part.kind !== kind)
        .map(({ text }) => text)
        .join('');
    expect([without('added'), without('removed')]).toEqual([before, after]);
  });

  it('does not compare texts of thousands of words', () => {
    expect(diffWords('x '.repeat(2_001), 'x')).toBeNull();
  });
});
