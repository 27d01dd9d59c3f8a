import * as fc from 'fast-check';

// Damage to the bytes of a request: text that no JSON library writes, but broken clients and attackers do.

export interface TextDamage {
  kind: (typeof kinds)[number];
  /** Position of the damage. */
  at: number;
  piece: string;
}

const kinds = [
  'cut',
  'cut',
  'duplicate key',
  'duplicate key',
  'number',
  'number',
  'insert',
  'insert',
  'byte',
  'byte order mark',
  'utf-16',
  'trailing',
  'blank',
  'lone surrogate',
  'bomb',
] as const;

const pieces = [
  ',', '}', ']', '{', '[', '"', '\\', ':', '\u0000', '\u0001', '\n', '\ufeff', '\u2028', '//', '/* */', "'", 'NaN',
  'undefined', '\\ud800', '\\u0000', '1e400', '-', '+1', '01', 'null',
]; // prettier-ignore

const numbers = [
  '1e400',
  '-1e400',
  '-0',
  '1.10',
  '12345678901234567890',
  '0.1e-400',
  'NaN',
  'Infinity',
  '0x10',
  '01',
  '1.',
];

export const textDamage: fc.Arbitrary<TextDamage> = fc.record({
  kind: fc.constantFrom(...kinds),
  at: fc.nat(),
  piece: fc.constantFrom(...pieces),
});

export function damaged(text: string, { kind, at, piece }: TextDamage): Uint8Array {
  const place = at % (text.length + 1);
  switch (kind) {
    case 'cut':
      return utf8(text.slice(0, place));
    case 'duplicate key':
      return utf8(replaceOne(text, /"((?:[^"\\]|\\.)*)":/g, at, (key) => `${key}null,${key}`));
    case 'number':
      return utf8(replaceOne(text, /(?<=[:[,])-?\d[\d.e+]*/g, at, () => numbers[at % numbers.length]!));
    case 'insert':
      return utf8(text.slice(0, place) + piece + text.slice(place));
    case 'byte': {
      const bytes = utf8(text);
      bytes[at % Math.max(1, bytes.length)] = [0xff, 0xc0, 0x80, 0xed, 0x00][at % 5]!;
      return bytes;
    }
    case 'byte order mark':
      return utf8(`\ufeff${text}`);
    case 'utf-16':
      return new Uint8Array(Buffer.from(text, 'utf16le'));
    case 'trailing':
      return utf8(text + piece + text.slice(0, at % 3));
    case 'blank':
      return utf8(['', ' ', '\n', 'null', '[]', '"x"', '5', '{}'][at % 8]!);
    case 'lone surrogate':
      return utf8(replaceOne(text, /(?<=:")/g, at, () => '\\udc00'));
    case 'bomb':
      return utf8(replaceOne(text, /(?<=:)/g, at, () => (at % 2 === 0 ? '[' : '{"a":').repeat(100_000)));
  }
}

export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

function replaceOne(text: string, pattern: RegExp, which: number, change: (found: string) => string): string {
  const found = [...text.matchAll(pattern)];
  const chosen = found[which % Math.max(1, found.length)];
  if (!chosen) return text;
  return text.slice(0, chosen.index) + change(chosen[0]) + text.slice(chosen.index + chosen[0].length);
}

/** Headers that contradict the body. */
export const oddHeaders: fc.Arbitrary<Record<string, string>> = fc.constantFrom<Record<string, string>>(
  { 'content-type': 'text/plain' },
  { 'content-type': 'application/x-www-form-urlencoded' },
  { 'content-type': 'multipart/form-data; boundary=x' },
  { 'content-type': 'application/json; charset=latin1' },
  { 'content-type': 'application/json;' },
  { 'content-type': 'APPLICATION/JSON' },
  { 'content-type': '' },
  { 'content-type': 'application/json', 'content-encoding': 'gzip' },
  { 'content-type': 'application/json', accept: 'text/html' },
  { 'content-type': 'application/json', 'anthropic-version': 'x'.repeat(300), 'anthropic-beta': ',,a' },
  { 'content-type': 'application/json', 'x-stainless-retry-count': 'NaN' },
);
