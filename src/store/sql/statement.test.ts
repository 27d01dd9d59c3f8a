import { array, assert, integer, property } from 'fast-check';
import { expect, test } from 'vitest';
import { inLists, slices, tuples } from './statement.ts';

test('tuples are rows of placeholders', () => {
  expect(tuples(1, 1)).toBe('(?)');
  expect(tuples(2, 3)).toBe('(?,?,?),(?,?,?)');
});

test('slices keep every row in order, in lengths that are powers of two', () => {
  assert(
    property(array(integer(), { maxLength: 400 }), (rows) => {
      const cut = slices(rows);
      expect(cut.flat()).toEqual(rows);
      for (const { length } of cut) expect(length <= 64 && Number.isInteger(Math.log2(length))).toBe(true);
      expect(cut.length).toBeLessThanOrEqual(Math.floor(rows.length / 64) + 6);
    }),
  );
});

test('lists hold every value, are padded with one of them, and stay below what SQLite binds', () => {
  assert(
    property(integer({ min: 0, max: 40_000 }), (length) => {
      const values = Array.from({ length }, (_, i) => i);
      const lists = inLists(values);
      expect(new Set(lists.flatMap((list) => list.params))).toEqual(new Set(values));
      for (const { sql, params } of lists) {
        expect(params.length).toBeLessThan(32_000);
        expect(sql.split('?')).toHaveLength(params.length + 1);
        expect(Number.isInteger(Math.log2(params.length))).toBe(true);
      }
    }),
    { numRuns: 30 },
  );
  expect(inLists([])).toEqual([]);
  expect(inLists(['a', 'b', 'c'])).toEqual([{ sql: '(?,?,?,?)', params: ['a', 'b', 'c', 'c'] }]);
});
