import { expect, it } from 'vitest';
import { canonicalHash, canonicalJson } from './canonical-json.ts';

it('sorts members by name at every level, numbers as texts, and keeps the order of lists', () => {
  const value = { b: [{ z: 1, y: null }, 'ü"'], a: undefined, 7: true, 10: 1e21, B: {} };
  expect(canonicalJson(value)).toBe('{"10":1e+21,"7":true,"B":{},"b":[{"y":null,"z":1},"ü\\""]}');
  expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
});

it('has the SHA-256 that other programs compute of the text', () => {
  // printf '{"a":1}' | sha256sum
  expect(canonicalHash({ a: 1 })).toBe('015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862');
});
