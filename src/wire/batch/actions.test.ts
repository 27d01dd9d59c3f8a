import { describe, expect, it } from 'vitest';
import { parseAction } from './actions.ts';

const parse = (body: object, isOperator = false) => parseAction(JSON.stringify(body), isOperator);

describe('an action on batches', () => {
  it('takes a null in its filter as absent', () => {
    const filter = { status: null, model: 'm', q: null };
    expect(parse({ action: 'cancel', filter }).filter).toEqual(
      parse({ action: 'cancel', filter: { model: 'm' } }).filter,
    );
  });

  it('is refused with a filter of nulls alone, but matches all batches with an empty one', () => {
    expect(() => parse({ action: 'cancel', filter: { status: null } })).toThrow('has only nulls');
    expect(() => parse({ action: 'cancel', filter: { org: null } }, true)).toThrow('has only nulls');
    expect(parse({ action: 'cancel', filter: {} }).filter).toEqual({});
  });

  it.each([
    [{ action: 'pause' }, 'one of ids and filter is required'],
    [{ action: 'pause', ids: ['batch_1'], filter: {} }, 'cannot be combined with ids'],
    [{ action: 'pause', filter: {}, codes: ['x'] }, 'is only used with the action retry'],
  ])('%j is refused', (body, message) => {
    expect(() => parse(body)).toThrow(message);
  });
});
