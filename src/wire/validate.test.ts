import { describe, expect, it } from 'vitest';
import { string, array, object } from './schema.ts';
import { validator } from './validate.ts';

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

describe('a value with very many faults', () => {
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

  it('has them found behind as many good items', () => {
    const items = [...Array.from({ length: 5_000 }, () => ({ name: 'x' })), {}, {}];
    expect(validator(array(item))(items).map(({ param }) => param)).toEqual(['[5000].name', '[5001].name']);
  });
});

it('a validator is compiled when it is needed, for more than the verdict at the first bad value, and only once', () => {
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
