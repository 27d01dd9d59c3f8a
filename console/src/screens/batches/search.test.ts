import { describe, expect, it } from 'vitest';
import { columnsOf, defaultColumns, filtersOf, parseBatchesSearch } from './search.ts';

describe('the address of the list of batches', () => {
  it('gives filters and columns', () => {
    const search = parseBatchesSearch({
      q: 'night',
      status: 'in_progress',
      waiting: 'any',
      at_risk: true,
      columns: 'name,cost',
    });
    expect(filtersOf(search)).toEqual({ q: 'night', status: 'in_progress', waiting: 'any', at_risk: true });
    expect(columnsOf(search, 'narrow')).toEqual(['name', 'cost']);
  });

  it('ignores what it does not know', () => {
    const search = parseBatchesSearch({
      q: {},
      status: 'done',
      waiting: '<b>',
      at_risk: 'no',
      columns: 'x,y',
      z: 1,
    });
    expect(search).toEqual({});
    for (const width of ['narrow', 'normal', 'wide'] as const)
      expect(columnsOf(search, width)).toEqual(defaultColumns[width]);
  });

  it('takes numbers as text, and bounds it', () => {
    expect(parseBatchesSearch({ q: 42 })).toEqual({ q: '42' });
    expect(parseBatchesSearch({ q: 'x'.repeat(999) }).q).toHaveLength(200);
  });
});
