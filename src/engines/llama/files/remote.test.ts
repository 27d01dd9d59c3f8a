import { expect, test } from 'vitest';
import { isSameVersion } from './remote.ts';

const [one, other] = ['a'.repeat(64), 'b'.repeat(64)];

test.each<[string, [tag: string | null, sha256: string | null], string | null, boolean | undefined]>([
  ['the same checksum, whatever the tags', ['"x"', one], one, true],
  ['another checksum, whatever the tags', ['"tag"', other], one, false],
  ['the same tag, where only one has a checksum', ['"tag"', null], one, true],
  ['another tag', ['"x"', null], null, false],
  ['no tag, and no checksum to go by', [null, null], one, undefined],
])('%s', (_, [tag, sha256], earlier, isSame) => {
  expect(isSameVersion({ tag, sha256 }, { tag: '"tag"', sha256: earlier })).toBe(isSame);
});

test('two of which nothing is known may be two', () => {
  const unknown = { tag: null, sha256: null };
  expect(isSameVersion(unknown, unknown)).toBeUndefined();
  expect(isSameVersion(unknown, { tag: null, sha256: one })).toBeUndefined();
});
