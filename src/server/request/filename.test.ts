import { create as contentDisposition, parse } from 'content-disposition';
import { describe, expect, it } from 'vitest';
import { cleanFilename } from './filename.ts';

describe('cleanFilename', () => {
  it.each([
    ['in.jsonl', 'in.jsonl'],
    ['/etc/passwd', 'passwd'],
    ['..\\..\\windows\\x.jsonl', 'x.jsonl'],
    ['../..', 'upload.jsonl'],
    ['.', 'upload.jsonl'],
    ['', 'upload.jsonl'],
    [undefined, 'upload.jsonl'],
    ['a\r\nSet-Cookie: x=1.jsonl', 'aSet-Cookie: x=1.jsonl'],
    ['say "hi";.jsonl', 'say "hi";.jsonl'],
    ['\u202egnp.jsonl', 'gnp.jsonl'],
    ['日本 ✨.jsonl', '日本 ✨.jsonl'],
    ['\ud800x.jsonl', 'x.jsonl'],
    ['  spaced  ', 'spaced'],
    ['%22quoted%22.jsonl', '"quoted".jsonl'],
    ['100%25.jsonl', '100%25.jsonl'],
    ['%0d%0aX: y', 'X: y'],
  ])('%j becomes %j', (sent, clean) => {
    expect(cleanFilename(sent)).toBe(clean);
  });

  it('cuts after 255 characters, never inside one', () => {
    const clean = cleanFilename('😀'.repeat(300));
    expect(Array.from(clean)).toHaveLength(255);
    expect(clean.isWellFormed()).toBe(true);
  });

  it('422: a NUL', () => {
    expect(() => cleanFilename('a\0.jsonl')).toThrow(expect.objectContaining({ status: 422, param: 'file' }));
  });

  it('C08, C09: makes names that survive the download header', () => {
    for (const sent of [
      '日本.jsonl',
      'a"b.jsonl',
      '\u202ex',
      'x'.repeat(300),
      '100%.jsonl',
      "o'clock.jsonl",
    ]) {
      const header = contentDisposition(cleanFilename(sent));
      expect(header).toMatch(/^[\x20-\x7e]+$/);
      expect(parse(header)).toMatchObject({
        type: 'attachment',
        parameters: { filename: cleanFilename(sent) },
      });
    }
  });
});
