import { beforeEach, expect, it } from 'vitest';
import type { Queries, Value } from '../db.ts';
import { conditions, tableOf } from './table.ts';

interface Thing {
  id: string;
  madeAt: number;
  marks: string[] | null;
  secret: string;
}

const things = tableOf<Thing, 'secret'>('things', { json: ['marks'], unread: ['secret'] })(
  'id madeAt',
  'marks secret',
);

let asked: [text: string, params: readonly Value[] | undefined][];
let rows: object[];
const q: Queries = {
  forUpdate: '',
  skipLocked: '',
  all: async <Row extends object>(text: string, params?: readonly Value[]) => {
    asked.push([text.trim(), params]);
    return rows as Row[];
  },
};

beforeEach(() => {
  asked = [];
  rows = [];
});

it('a table writes the fields of a value, lists as JSON', async () => {
  await things.insert(q, [{ id: 'x', madeAt: 5, marks: ['a'], secret: 's' }]);
  await things.insert(q, [{ id: 'y', madeAt: 6, marks: null, secret: 't' }]);
  const text = 'INSERT INTO things (id, made_at, marks, secret) VALUES (?,?,?,?)';
  expect(asked).toEqual([
    [text, ['x', 5, '["a"]', 's']],
    [text, ['y', 6, null, 't']],
  ]);
});

it('a table reads them back, but for what is not read', async () => {
  rows = [Object.freeze({ id: 'x', madeAt: 5, marks: '["a"]' }), { id: 'y', madeAt: 6, marks: null }];
  expect(await things.all(q, { 'made_at > ?': 4 }, 'ORDER BY id LIMIT ?', [2])).toEqual([
    { id: 'x', madeAt: 5, marks: ['a'] },
    { id: 'y', madeAt: 6, marks: null },
  ]);
  expect(asked).toEqual([
    ['SELECT id, made_at AS "madeAt", marks FROM things WHERE made_at > ? ORDER BY id LIMIT ?', [4, 2]],
  ]);
});

it('an update leaves what is undefined', async () => {
  await things.update(q, { madeAt: undefined, marks: ['b'] }, { id: 'x' });
  await things.update(q, {}, { id: 'x' });
  expect(asked.map(([text, params]) => [text.replace(/ RETURNING.*/, ''), params])).toEqual([
    ['UPDATE things SET marks = ? WHERE id = ?', ['["b"]', 'x']],
    ['UPDATE things SET id = id WHERE id = ?', ['x']],
  ]);
});

it('a change and a removal read nothing of the rows', async () => {
  rows = [{ marks: 'damaged' }];
  expect(await things.change(q, { madeAt: 7 }, { id: 'x' })).toBe(1);
  expect(await things.remove(q, { id: 'x' })).toBe(1);
  expect(asked).toEqual([
    ['UPDATE things SET made_at = ? WHERE id = ? RETURNING 1', [7, 'x']],
    ['DELETE FROM things WHERE id = ? RETURNING 1', ['x']],
  ]);
});

it('a condition without its parameter is not asked, a field without its value is', () => {
  expect(
    conditions({ orgId: 'a', 'id > ?': undefined, '(a < ? OR b < ?)': [1, 2], ownC: null, 'd > 0': [] }),
  ).toEqual({
    sql: 'org_id = ? AND (a < ? OR b < ?) AND own_c IS NULL AND d > 0',
    params: ['a', 1, 2],
  });
  const forgotten = { orgId: undefined };
  expect(conditions(forgotten)).toEqual({ sql: 'org_id = ?', params: [undefined] });
  expect(conditions({})).toEqual({ sql: 'TRUE', params: [] });
});
