import { expect, test } from 'vitest';
import * as fc from 'fast-check';
import { hasLoneSurrogate, lineText } from './line-text.ts';

const raw = String.raw;

test.each([
  // Breaks of common readers.
  ['"a\u2028b\u2029c\u0085d"', raw`"a\u2028b\u2029c\u0085d"`],
  // Raw halves of pairs, and whole pairs.
  ['"a\ud83d"', '"a\ufffd"'],
  ['"\ude00\ud83d"', '"\ufffd\ufffd"'],
  ['"😀"', '"😀"'],
  // Escaped halves, in either case.
  [raw`"a\ud800"`, raw`"a\ufffd"`],
  [raw`"\uDFFFb"`, raw`"\ufffdb"`],
  [raw`"\ud83d\ud83d\ude00"`, raw`"\ufffd\ud83d\ude00"`],
  [raw`"\ude00\ud83d"`, raw`"\ufffd\ufffd"`],
  [raw`"\uD83D\uDE00"`, raw`"\uD83D\uDE00"`],
  // The text backslash, u, d: not an escape.
  [raw`"\\ud800"`, raw`"\\ud800"`],
  [raw`"\\\ud800"`, raw`"\\\ufffd"`],
  [raw`"\\\\ud800\ud7ff\ue000"`, raw`"\\\\ud800\ud7ff\ue000"`],
  [raw`{"\ud800":"\"\n\u2028"}`, raw`{"\ufffd":"\"\n\u2028"}`],
])('writes %j as %j', (json, line) => {
  expect(lineText(json)).toBe(line);
  expect(hasLoneSurrogate(json)).toBe(!isWhole(JSON.parse(json) as string | object));
});

test('does not join a raw surrogate with an escaped one', () => {
  expect(lineText('"\ud83d' + raw`\ude00"`)).toBe('"\ufffd' + raw`\ufffd"`);
});

function isWhole(value: string | object): boolean {
  return typeof value === 'string' ? value.isWellFormed() : Object.keys(value)[0]!.isWellFormed();
}

test('changes only lone surrogates, and leaves no line break', () => {
  const unit = fc.oneof(
    fc.constantFrom(0x5c, 0x22, 0x75, 0x64, 0x38, 0x85, 0x2028, 0x2029),
    fc.integer({ min: 0, max: 0xffff }),
  );
  const text = fc.array(unit).map((units) => String.fromCharCode(...units));
  fc.assert(
    fc.property(text, fc.boolean(), (value, escaped) => {
      const json = JSON.stringify(value);
      const written = escaped ? json.replaceAll(/[^\0-\x7f]/g, (c) => `\\u${hex(c)}`) : json;
      const line = lineText(written);
      expect(JSON.parse(line)).toBe(value.toWellFormed());
      expect(line).not.toMatch(/[\u0085\u2028\u2029]/);
      expect(hasLoneSurrogate(written)).toBe(!value.isWellFormed());
    }),
  );
});

function hex(unit: string): string {
  return unit.charCodeAt(0).toString(16).padStart(4, '0');
}
