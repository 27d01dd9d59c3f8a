import { expect, it } from 'vitest';
import { type Column, cssWidths } from './column.ts';

const column = (id: string, width?: number): Column<object> => ({
  id,
  header: id,
  cell: () => null,
  ...(width !== undefined && { width }),
});

it('columns of a table grow in proportion, unless one of them has the rest', () => {
  expect(cssWidths([column('a', 100), column('b', 300)])).toEqual(['25%', '75%']);
  expect(cssWidths([column('a', 100), column('b', 60)], 40)).toEqual(['50%', '30%']);
  expect(cssWidths([column('a', 100), column('text')])).toEqual([100, undefined]);
});
