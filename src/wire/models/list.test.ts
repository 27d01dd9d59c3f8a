import { expect, it } from 'vitest';
import { parseModelListQuery } from './list.ts';

it('accepts the cursors of both APIs, and reports a wrong one under the name that was sent', () => {
  expect(parseModelListQuery({ after: 'a' })).toMatchObject({ after: 'a' });
  expect(parseModelListQuery({ after: 'a', after_id: 'b' })).toMatchObject({ after: 'b' });
  for (const name of ['after', 'after_id', 'before_id'])
    expect(() => parseModelListQuery({ [name]: ['a', 'b'] })).toThrow(
      expect.objectContaining({ param: name }),
    );
});
