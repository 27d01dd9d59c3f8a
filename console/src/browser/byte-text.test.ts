import { expect, it } from 'vitest';
import * as node from '../../../src/base/byte-text.ts';
import * as browser from './byte-text.ts';

const texts = ['', 'plain', 'Zürich 🎈 \u0000', '\uFEFFmark', 'x'.repeat(20_000) + 'é'];
const broken = [
  Uint8Array.of(0xff),
  Uint8Array.of(0xc3),
  Uint8Array.of(0xed, 0xa0, 0x80),
  Uint8Array.of(0xc0, 0x80),
];

it('does the same as the module of the server', () => {
  expect(Object.keys(browser).toSorted()).toEqual(Object.keys(node).toSorted());
  for (const bytes of [...texts.map((text) => new TextEncoder().encode(text)), ...broken]) {
    expect(browser.isAscii(bytes)).toBe(node.isAscii(bytes));
    expect(browser.isUtf8(bytes)).toBe(node.isUtf8(bytes));
    expect(browser.toBinaryString(bytes)).toBe(node.toBinaryString(bytes));
  }
  for (const text of texts) {
    const binary = node.toBinaryString(new TextEncoder().encode(text));
    expect(browser.fromBinaryString(binary)).toBe(node.fromBinaryString(binary));
  }
});
