import { describe, expect, it } from 'vitest';
import type { ApiError } from '../../core/errors.ts';
import { parseBatchListQuery, parseResultsQuery } from '../batch/list.ts';
import { parseFileListQuery } from '../file/list.ts';
import { listBody, listJson } from './list-body.ts';
import { textParam } from './query-params.ts';

const batchId = `batch_${'0'.repeat(32)}`;
const fileId = `file-${'a'.repeat(32)}`;

/** The `param` of the refusal. */
function refused(read: () => unknown): string | null {
  try {
    read();
  } catch (error) {
    const { status, param } = error as ApiError;
    expect(status).toBe(422);
    return param;
  }
  throw new Error('was accepted');
}

describe('list queries', () => {
  it('have defaults, and ignore unknown parameters', () => {
    expect(parseBatchListQuery({})).toEqual({ limit: 20 });
    expect(parseBatchListQuery({ foo: 'bar', after: '', status: '', order: '' })).toEqual({ limit: 20 });
    expect(parseFileListQuery({})).toEqual({ limit: 100, order: 'desc' });
  });

  it('take every filter', () => {
    expect(
      parseBatchListQuery({
        limit: '100',
        after: batchId,
        status: 'completed',
        order: 'asc',
        created_after: '2026-11-21T09:30:00Z',
      }),
    ).toEqual({
      limit: 100,
      after: batchId,
      status: 'completed',
      order: 'asc',
      createdAfter: Date.UTC(2026, 10, 21, 9, 30),
    });
    expect(parseBatchListQuery({ created_after: '1700000000' }).createdAfter).toBe(1_700_000_000_000);
    expect(
      parseFileListQuery({ limit: '10000', after: fileId, order: 'asc', purpose: 'batch_output' }),
    ).toEqual({
      limit: 10_000,
      after: fileId,
      order: 'asc',
      purpose: 'batch_output',
    });
  });

  it.each(['0', '-1', '101', 'abc', '1e2', '1.5', ' 5', '', '99999999999999999999'])(
    'B40: the limit %j is refused',
    (limit) => {
      expect(refused(() => parseBatchListQuery({ limit }))).toBe('limit');
    },
  );

  it('B40: files have a limit of their own', () => {
    expect(refused(() => parseFileListQuery({ limit: '10001' }))).toBe('limit');
  });

  it.each([
    ['order', 'up'],
    ['purpose', 'fine-tune'],
    ['after', 'file-'],
    ['after', batchId],
    ['after', `file-${'A'.repeat(32)}`],
    ['after', '../x'],
  ])('B40: %s=%s is refused for files', (name, value) => {
    expect(refused(() => parseFileListQuery({ [name]: value }))).toBe(name);
  });

  it.each([
    ['status', 'done'],
    ['created_after', 'yesterday'],
    ['created_after', '2026-13-45T00:00:00Z'],
    ['created_after', '2026-11-21'],
    ['after', 'batch_%00'],
    ['after', ['a', 'b']],
  ])('B40: %s=%s is refused for batches', (name, value) => {
    expect(refused(() => parseBatchListQuery({ [name]: value }))).toBe(name);
  });

  it('results resume after a line number', () => {
    expect(parseResultsQuery({})).toEqual({ after: 0 });
    expect(parseResultsQuery({ after: '500' })).toEqual({ after: 500 });
    for (const after of ['-1', 'x', '1.5']) expect(refused(() => parseResultsQuery({ after }))).toBe('after');
  });
});

describe('the list envelope', () => {
  it('always has has_more, first_id and last_id', () => {
    expect(listBody([{ id: 'a' }, { id: 'b' }], true)).toEqual({
      object: 'list',
      data: [{ id: 'a' }, { id: 'b' }],
      first_id: 'a',
      last_id: 'b',
      has_more: true,
    });
    expect(listBody([], false)).toEqual({
      object: 'list',
      data: [],
      first_id: null,
      last_id: null,
      has_more: false,
    });
  });

  it('is the same for items that are JSON text', () => {
    const json = listJson(
      [
        { id: 'a', json: '{"id":"a","n":1.10}' },
        { id: 'b', json: '{"id":"b"}' },
      ],
      false,
    );
    expect(json).toContain('{"id":"a","n":1.10}');
    expect(JSON.parse(json)).toEqual(listBody([{ id: 'a', n: 1.1 }, { id: 'b' }], false));
    expect(JSON.parse(listJson([], true))).toEqual(listBody([], true));
  });
});

it('a parameter may not repeat or contain a NUL', () => {
  expect(textParam({ model: 'a' }, 'model')).toBe('a');
  for (const model of [['a', 'b'], 'a\0']) expect(refused(() => textParam({ model }, 'model'))).toBe('model');
});
