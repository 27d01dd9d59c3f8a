import { expect, test } from 'vitest';
import { cutPage, pageBytes } from './page.ts';

test.each([
  ['none', [], { count: 0, bytes: 0, hasMore: false }],
  ['as many as were asked for', [1, 2, 3], { count: 3, bytes: 6, hasMore: false }],
  ['no more than were asked for', [1, 2, 3, 4], { count: 3, bytes: 6, hasMore: true }],
  ['all that fit', [pageBytes - 1, 1], { count: 2, bytes: pageBytes, hasMore: false }],
  ['no more than fit', [pageBytes - 1, 2], { count: 1, bytes: pageBytes - 1, hasMore: true }],
  ['one that is too large, alone', [pageBytes + 1, 0], { count: 1, bytes: pageBytes + 1, hasMore: true }],
])('a page of at most 3 entries has %s', (_what, sizes, page) => {
  expect(
    cutPage(
      sizes.map((bytes) => ({ bytes })),
      3,
    ),
  ).toEqual(page);
});
