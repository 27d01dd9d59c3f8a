import { expect, test } from 'vitest';
import { readRange } from './byte-range.ts';

const of = (range: string, size = 100, condition?: string) =>
  readRange({ range, ...(condition !== undefined && { 'if-range': condition }) }, { size, etag: '"sum"' });

test.each([
  ['bytes=10-19', { start: 10, end: 20 }],
  ['bytes=0-0', { start: 0, end: 1 }],
  ['bytes=90-', { start: 90, end: 100 }],
  ['bytes=90-1000', { start: 90, end: 100 }],
  ['bytes=99-99', { start: 99, end: 100 }],
  ['bytes=-10', { start: 90, end: 100 }],
  ['bytes=-1000', { start: 0, end: 100 }],
  ['Bytes=0-', { start: 0, end: 100 }],
  ['bytes = 1 - 2', { start: 1, end: 3 }],
])('%s is a range', (range, expected) => {
  expect(of(range)).toEqual(expected);
});

test.each([
  'bytes=-',
  'bytes=',
  'bytes=9-3',
  'bytes=0-1,5-6',
  'bytes=0-1, 5-6',
  'lines=0-1',
  'bytes=a-b',
  'bytes=1.5-2',
  'bytes 0-1',
  '0-1',
])('%s is answered with the whole', (range) => {
  expect(of(range)).toBeUndefined();
});

test.each([
  ['bytes=100-', 100],
  ['bytes=100-200', 100],
  ['bytes=99999999999999999999999-', 100],
  ['bytes=-0', 100],
  ['bytes=0-', 0],
  ['bytes=-5', 0],
])('%s of %i bytes is none', (range, size) => {
  expect(() => of(range, size)).toThrow(
    expect.objectContaining({ code: 'range_not_satisfiable', status: 416, contentRange: `bytes */${size}` }),
  );
});

test('If-Range asks for the whole of another content, also behind its end', () => {
  expect(of('bytes=1-2', 100, '"sum"')).toEqual({ start: 1, end: 3 });
  expect(of('bytes=1-2', 100, '"other"')).toBeUndefined();
  expect(of('bytes=1-2', 100, 'W/"sum"')).toBeUndefined();
  expect(of('bytes=100-', 100, 'Sat, 21 Nov 2026 09:30:00 GMT')).toBeUndefined();
});

test('no range is the whole', () => {
  expect(readRange({}, { size: 5, etag: '"sum"' })).toBeUndefined();
});
