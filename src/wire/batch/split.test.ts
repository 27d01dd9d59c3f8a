import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type SplitItem, Splitter } from './split.ts';

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const of = (...parts: (string | number[])[]): Uint8Array =>
  Uint8Array.from(parts.flatMap((part) => (typeof part === 'string' ? [...bytesOf(part)] : part)));

function split(file: Uint8Array | string, cuts: number[] = [], lineBytes = 1_000): SplitItem[] {
  const bytes = typeof file === 'string' ? bytesOf(file) : file;
  const splitter = new Splitter({ lineBytes });
  const edges = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
  const items: SplitItem[] = [];
  for (let at = 1; at < edges.length; at += 1) {
    // A chunk whose memory is used again at once, as a socket's may be.
    const chunk = bytes.slice(edges[at - 1], edges[at]);
    for (const item of splitter.push(chunk)) items.push(kept(item));
    chunk.fill(0x58);
  }
  return [...items, ...Array.from(splitter.end(), kept)];
}

/** With a copy of the bytes, which are there only until the next item. */
function kept(item: SplitItem): SplitItem {
  return item.line ? { line: { ...item.line, bytes: Uint8Array.from(item.line.bytes) } } : item;
}

const numbered = (items: SplitItem[]) =>
  items.map((item) =>
    item.line ? [item.line.number, Buffer.from(item.line.bytes).toString()] : item.fault.code,
  );
const faults = (items: SplitItem[]) => items.flatMap((item) => (item.fault ? [item] : []));

describe('the splitter', () => {
  it('gives the same lines and offsets for any chunks', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '\n',
        '\r\n',
        '{}',
        ' ',
        '\t',
        '\u2028',
        '\u0085',
        '\r',
        '{"a":"é日😀"}',
        'x'.repeat(40),
      ),
      fc.string({ unit: 'grapheme' }),
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 30 }),
        fc.boolean(),
        fc.array(fc.nat()),
        (pieces, marked, cuts) => {
          const bytes = bytesOf(`${marked ? '\ufeff' : ''}${pieces.join('')}`);
          const whole = split(bytes, [], 60);
          expect(split(bytes, cuts, 60)).toEqual(whole);
          expect(
            split(
              bytes,
              Array.from({ length: bytes.length }, (_, at) => at),
              60,
            ),
          ).toEqual(whole);
          for (const { line } of whole) {
            if (!line) continue;
            const { offset, length } = line;
            expect(bytes.slice(offset, offset + length)).toEqual(Uint8Array.from(line.bytes));
            expect(line.number).toBe(bytes.subarray(0, offset).filter((byte) => byte === 0x0a).length + 1);
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it('B01: an empty file, or only newlines, has no lines', () => {
    for (const file of ['', '\n', '\n\n\n', '\r\n\r\n', '  \n\t\n', '\ufeff', '\ufeff\n'])
      expect(split(file)).toEqual([]);
  });

  it('B02: accepts a byte order mark, and keeps the offsets those of the file', () => {
    expect(split('\ufeff{}\n[')[0]?.line).toMatchObject({
      number: 1,
      offset: 3,
      length: 2,
      bytes: bytesOf('{}'),
    });
  });

  it('B03: refuses one anywhere else', () => {
    expect(faults(split('{}\n\ufeff{}\n'))).toMatchObject([
      { fault: { code: 'invalid_encoding', line: 2 }, fatal: false },
    ]);
  });

  it('B04: accepts CRLF, refuses a lone carriage return', () => {
    expect(numbered(split('{}\r\n{"a":1}\r\n'))).toEqual([
      [1, '{}'],
      [2, '{"a":1}'],
    ]);
    expect(numbered(split('{}\n{"a":\r1}\n'))).toEqual([[1, '{}'], 'invalid_json_line']);
    expect(numbered(split('{}\r{}\r{}'))).toEqual(['invalid_json_line']);
    // A CRLF file that lost its last byte.
    expect(numbered(split('{}\r'))).toEqual([[1, '{}']]);
    expect(numbered(split('{}\r\n{"a":1}\r'))).toEqual([
      [1, '{}'],
      [2, '{"a":1}'],
    ]);
    expect(numbered(split('{}\r\n\r'))).toEqual([[1, '{}']]);
    expect(numbered(split('{}\r\r'))).toEqual(['invalid_json_line']);
  });

  it('B05: line and paragraph separators and NEL do not end a line', () => {
    const text = '{"a":"x\u2028y\u2029z\u0085"}';
    expect(numbered(split(`${text}\n${text}`))).toEqual([
      [1, text],
      [2, text],
    ]);
  });

  it('B06: the last newline may be missing; blank lines are skipped and counted', () => {
    expect(numbered(split('{}\n\n  \n{"a":1}'))).toEqual([
      [1, '{}'],
      [4, '{"a":1}'],
    ]);
    expect(numbered(split('{}\n{"a":1}\n\n'))).toEqual([
      [1, '{}'],
      [2, '{"a":1}'],
    ]);
  });

  it.each([
    ['a stray byte', [0xff], 'byte 6 of the file (byte 3 of the line)'],
    ['an overlong form', [0xc0, 0x80], 'byte 6 of the file (byte 3 of the line)'],
    ['half a character before the newline', [0xe2, 0x82], 'byte 8 of the file (byte 5 of the line)'],
  ])('B07: refuses %s with line and byte, however it is cut', (_, bad, place) => {
    const file = of('{}\n{"a', bad, '"}\n{}');
    for (let cut = 0; cut <= file.length; cut += 1) {
      const [found, ...others] = faults(split(file, [cut]));
      expect(others).toEqual([]);
      expect(found).toMatchObject({ fault: { code: 'invalid_encoding', line: 2 }, fatal: false });
      expect(found?.fault?.message).toContain('is not valid UTF-8');
    }
    expect(faults(split(file))[0]?.fault?.message).toBe(`${place} is not valid UTF-8`);
  });

  it('B07: a character cut by chunks is whole', () => {
    expect(numbered(split('{"a":"😀"}', [7, 8, 9]))).toEqual([[1, '{"a":"😀"}']]);
  });

  it.each([
    ['UTF-16 text', of([0xff, 0xfe], [0x7b, 0x00])],
    ['UTF-16 text', of([0xfe, 0xff], [0x00, 0x7b])],
    ['UTF-16 text', of([0x7b, 0x00, 0x22, 0x00])],
    ['UTF-16 text', of([0x00, 0x7b, 0x00, 0x22])],
    ['a gzip archive', of([0x1f, 0x8b, 0x08, 0x00, 0x01])],
    ['a zip archive', of([0x50, 0x4b, 0x03, 0x04, 0x0a])],
    ['a Zstandard archive', of([0x28, 0xb5, 0x2f, 0xfd, 0x0a])],
    ['a Parquet file', of('PAR1')],
  ])('B08, B09: names %s by its first bytes, once', (what, file) => {
    for (const cuts of [[], [1], [1, 2, 3]]) {
      const items = split(of([...file], '\n{}\n{}\n'), cuts);
      expect(items).toHaveLength(1);
      expect(items[0]).toMatchObject({ fatal: true, fault: { code: 'invalid_encoding' } });
      expect(items[0]?.fault?.message).toContain(`looks like ${what}`);
    }
  });

  it.each([
    ['one JSON array', '[{"custom_id":"a"},\n{"custom_id":"b"}]'],
    ['one JSON array', '\n  [\n'],
    ['pretty-printed JSON', '{\n  "custom_id": "a"\n}\n'],
    ['CSV', 'custom_id,method,url,body\na,POST,/v1/chat/completions,{}\n'],
    ['CSV', '"custom_id";"prompt"\n"a";"b"\n'],
    ['XML or HTML', '<!DOCTYPE html>\n<html>'],
  ])('B09: names %s by its first line, once', (what, file) => {
    const items = split(file);
    expect(items).toHaveLength(1);
    expect(items[0]).toMatchObject({ fatal: true, fault: { code: 'invalid_json_line' } });
    expect(items[0]?.fault?.message).toContain(`looks like ${what}`);
  });

  it('does not detect file types from later lines, nor for lines that are not from a file', () => {
    expect(numbered(split('{}\n[1]\n{\n'))).toEqual([
      [1, '{}'],
      [2, '[1]'],
      [3, '{'],
    ]);
    const splitter = new Splitter({ lineBytes: 100, guess: false });
    expect(numbered([...splitter.push(bytesOf('[1]\n{}\n'))])).toEqual([
      [1, '[1]'],
      [2, '{}'],
    ]);
  });

  it('B28: a line over the limit is reported once and skipped, and its memory freed', () => {
    const long = `{"a":"${'x'.repeat(200)}"}`;
    const file = `{}\n${long}\n{"b":1}\n${long}`;
    for (const cuts of [[], [5], [50, 100, 150, 220], Array.from({ length: 500 }, (_, at) => at)]) {
      const items = split(file, cuts, 100);
      expect(numbered(items)).toEqual([[1, '{}'], 'line_too_long', [3, '{"b":1}'], 'line_too_long']);
      expect(items[2]?.line?.offset).toBe(file.indexOf('{"b"'));
      expect(faults(items).map(({ fault }) => fault?.line)).toEqual([2, 4]);
    }
  });

  it('accepts a line of exactly the limit', () => {
    expect(numbered(split('x'.repeat(100), [50], 100))).toEqual([[1, 'x'.repeat(100)]]);
    expect(numbered(split('x'.repeat(101), [50], 100))).toEqual(['line_too_long']);
    expect(split('x'.repeat(101), [50], 100)).toMatchObject([
      { fault: { message: 'the line is longer than 100 bytes (limits.line_bytes of the server)' } },
    ]);
  });
});
