import { expect, it } from 'vitest';
import { columnsOf } from './columns.ts';

interface Thing {
  id: string;
  madeAt: number;
  marks: string[] | null;
}

it('columns hold the fields of a value, lists as JSON', () => {
  const columns = columnsOf<Thing>('marks')('id madeAt', 'marks');
  expect([columns.names, columns.count]).toEqual(['id, made_at, marks', 3]);
  expect(columns.fields).toBe('id, made_at AS "madeAt", marks');
  for (const marks of [['a'], null]) {
    const thing = { id: 'x', madeAt: 5, marks };
    const values = columns.values(thing);
    expect(values).toEqual(['x', 5, marks && '["a"]']);
    const row = Object.freeze({ id: values[0], madeAt: values[1], marks: values[2] });
    expect(columns.read(row)).toEqual(thing);
  }
});
