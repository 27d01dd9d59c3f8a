import { expect, test } from 'vitest';
import { createTextDecoder } from './text-decoder.ts';

/** A tokenizer whose tokens are bytes. */
const detokenize = (tokens: readonly number[]): string => Buffer.from(tokens).toString('utf8');

function pieces(bytes: Buffer): string[] {
  const decoder = createTextDecoder(detokenize);
  return [...Array.from(bytes, (byte) => decoder.push(byte)), decoder.end()];
}

test('a character comes whole, with its last token', () => {
  expect(pieces(Buffer.from('aé€😀'))).toEqual(['a', '', 'é', '', '', '€', '', '', '', '😀', '']);
});

test('an unfinished character comes at the end, as a replacement', () => {
  expect(pieces(Buffer.from('a€').subarray(0, 3)).join('')).toBe('a\uFFFD');
});

test('invalid bytes do not hold back the text after them', () => {
  const text = pieces(Buffer.concat([Buffer.from([0x80, 0x81, 0x82, 0x83, 0x84]), Buffer.from('ok😀')])).join(
    '',
  );
  expect(text).toBe(`${'\uFFFD'.repeat(5)}ok😀`);
});

test('tokens are decoded with the ones before them', () => {
  const seen: number[][] = [];
  const decoder = createTextDecoder((tokens, previous) => {
    seen.push([...previous]);
    return tokens.join('');
  });
  for (const token of [1, 2, 3]) decoder.push(token);
  expect(seen.at(-1)).toEqual([1, 2]);
});

test('a token with a mark becomes that mark, after held-back text', () => {
  const decoder = createTextDecoder(detokenize, new Map([[1, '<call>']]));
  expect(['a', '\u0001', 'b'].map((text) => decoder.push(text.charCodeAt(0)))).toEqual(['a', '<call>', 'b']);
  expect([0xe2, 1].map((byte) => decoder.push(byte))).toEqual(['', '\uFFFD<call>']);
});
