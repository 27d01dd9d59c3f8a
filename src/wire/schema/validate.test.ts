import { describe, expect, it } from 'vitest';
import { Ajv } from 'ajv';
import { string, array, object, when } from './schema.ts';
import { validator, dropUnmetIfErrors } from './validate.ts';

/** An array or object that counts how many of its items or fields are looked at. */
function watched<T extends object>(target: T): { value: T; looked: () => number } {
  let count = 0;
  const value = new Proxy(target, {
    get(of, key) {
      if (key !== 'length') count++;
      return Reflect.get(of, key);
    },
  });
  return { value, looked: () => count };
}

const item = object({ name: string() });

describe('a value with many faults', () => {
  it.each([
    ['items', array(item), Array.from({ length: 200_000 }, () => ({}))],
    [
      'fields',
      { type: 'object', additionalProperties: item },
      Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`f${at}`, {}])),
    ],
  ])('is looked at until enough %s are found', (_what, schema, wrong) => {
    const { value, looked } = watched<object>(wrong);
    expect(validator(schema)(value)).toHaveLength(100);
    expect(looked()).toBeLessThan(2_000);
  });

  it('reports them after as many valid items', () => {
    const items = [...Array.from({ length: 5_000 }, () => ({ name: 'x' })), {}, {}];
    expect(validator(array(item))(items).map(({ param }) => param)).toEqual(['[5000].name', '[5001].name']);
  });
});

it('duplicate items are named by their positions', () => {
  expect(validator(array(string(), { uniqueItems: true }))(['a', 'b', 'c', 'b'])).toEqual([
    { code: 'validation_error', message: 'items 1 and 3 are the same' },
  ]);
});

it('a validator compiles on first use, its full check at the first invalid value, and each only once', () => {
  const { value: schema, looked } = watched(array(item));
  const check = validator(schema);
  const reads = [[], [], [{}], [{}]].map((value) => {
    const before = looked();
    check(value);
    return looked() - before;
  });
  const [first, good, bad, badAgain] = reads as [number, number, number, number];
  expect([good, looked()]).toEqual([0, first + bad + badAgain]);
  expect(first).toBeGreaterThan(badAgain);
  expect(bad).toBeGreaterThan(badAgain);
});

it('a compiled validator compiles nothing for the first value', () => {
  const { value: schema, looked } = watched(array(item));
  const check = validator(schema);
  check.compile();
  const prepared = looked();
  expect(prepared).toBeGreaterThan(0);
  check([]);
  check.compile();
  expect(looked()).toBe(prepared);
});

it('the code of a check keeps nothing of an `if` that is not met, and all that is wrong', () => {
  const schema = object(
    { kind: string(), 'size?': { type: 'integer' } },
    when('kind', 'box', { size: { type: 'integer' } }),
  );
  let code = '';
  const check = new Ajv({ code: { process: (made) => (code = dropUnmetIfErrors(made)) } }).compile(schema);
  expect(code).toMatch(/errors\+\+/);
  expect(code).not.toMatch(/const err\d+ = \{\}/);
  expect([check({ kind: 'bag' }), check({ kind: 'box', size: 1 }), check({ kind: 'box' })]).toEqual([
    true,
    true,
    false,
  ]);
  expect(check.errors).toMatchObject([{ keyword: 'required' }]);
});
