import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { systemRandom } from '../base/system.ts';
import { hashKey, isKey, makeKey, shownKey } from './keys.ts';

describe('keys', () => {
  it('are sk-offpeak- with 43 characters of secret and 6 of checksum', () => {
    expect(makeKey(systemRandom)).toMatch(/^sk-offpeak-[0-9A-Za-z]{49}$/);
  });

  it('hold all 256 bits: the smallest and the largest number differ and have the same length', () => {
    const smallest = makeKey({ bytes: (n) => new Uint8Array(n), float: () => 0 });
    const largest = makeKey({ bytes: (n) => new Uint8Array(n).fill(255), float: () => 0 });
    expect(smallest.slice(11, 54)).toBe('0'.repeat(43));
    expect(decode(largest.slice(11, 54))).toBe(2n ** 256n - 1n);
    expect(isKey(smallest) && isKey(largest)).toBe(true);
  });

  it('are rejected without a query when any character differs', () => {
    const key = makeKey(systemRandom);
    expect(isKey(key)).toBe(true);
    for (let at = 0; at < key.length; at++) {
      const other = key[at] === 'a' ? 'b' : 'a';
      expect(isKey(key.slice(0, at) + other + key.slice(at + 1)), `character ${at}`).toBe(false);
    }
  });

  it.each([
    '',
    'sk-offpeak-',
    'Bearer x',
    `${makeKey(systemRandom)}\n`,
    ` ${makeKey(systemRandom)}`,
    'sk-1234',
  ])('are not %j', (text) => {
    expect(isKey(text)).toBe(false);
  });

  it('are stored as the SHA-256 of their whole text', () => {
    const key = makeKey(systemRandom);
    expect(hashKey(key)).toBe(createHash('sha256').update(key, 'utf8').digest('hex'));
  });

  it('show their first characters and the last four', () => {
    expect(shownKey('sk-offpeak-ABCDEFGHIJ')).toBe('sk-offpeak-ABCD...GHIJ');
    expect(shownKey('0123456789abcdef0123456789abcdef')).toBe('0123...cdef');
  });
});

function decode(digits: string): bigint {
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  return digits.split('').reduce((sum, digit) => sum * 62n + BigInt(alphabet.indexOf(digit)), 0n);
}
