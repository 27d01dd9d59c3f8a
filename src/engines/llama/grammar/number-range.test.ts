import { expect, test } from 'vitest';
import { UnsatisfiableGrammar, analyse } from './analysis.ts';
import { createCloser } from './closer.ts';
import { createGrammarBuilder } from './grammar.ts';
import { schemaRule } from './json-schema.ts';
import { createMatcher } from './matcher.ts';

/** True if the grammar of a schema accepts the whole text. */
function accepting(schema: object): (text: string) => boolean {
  const b = createGrammarBuilder();
  const root = b.rule([[schemaRule(b, schema)]]);
  try {
    const matcher = createMatcher(analyse(b.build(root)));
    return (text) => {
      const closer = createCloser(matcher, (piece) => piece.length);
      return closer.accept(text, 1000) && closer.isComplete;
    };
  } catch (error) {
    if (!(error instanceof UnsatisfiableGrammar)) throw error;
    return () => false;
  }
}

const ends = [-12.5, -10, -1.07, -1, -0.05, 0, 0.1, 0.25, 1, 3, 9.99, 12];
const hundredths = Array.from({ length: 2 * 1400 + 1 }, (_, i) => (i - 1400) / 100);
const wholes = Array.from({ length: 121 }, (_, i) => i - 60);

test.each(ends.flatMap((low) => ends.filter((high) => high >= low).map((high) => [low, high])))(
  'between %d and %d just the numbers there are written',
  (low, high) => {
    const number = accepting({ type: 'number', minimum: low, maximum: high });
    const inside = accepting({ type: 'number', exclusiveMinimum: low, exclusiveMaximum: high });
    expect(hundredths.filter((n) => number(String(n)))).toEqual(
      hundredths.filter((n) => n >= low && n <= high),
    );
    expect(hundredths.filter((n) => inside(String(n)))).toEqual(
      hundredths.filter((n) => n > low && n < high),
    );
    const integer = accepting({ type: 'integer', minimum: low, exclusiveMaximum: high });
    expect(wholes.filter((n) => integer(String(n)))).toEqual(wholes.filter((n) => n >= low && n < high));
    const sevens = accepting({ type: 'integer', multipleOf: 7, minimum: 4 * low, maximum: 4 * high });
    const wanted = wholes.filter((n) => n % 7 === 0 && n >= 4 * low && n <= 4 * high);
    expect(wholes.filter((n) => sevens(String(n)))).toEqual(wanted);
  },
);

test.each([
  [0.01, '0.29 19.99 -0.07 100.5 3 0', '0.295 0.001 -1.005'],
  [0.3, '0.3 0.9 -1.2 3', '0.1 1 2.9'],
  [2.5, '2.5 5 -7.5', '1.25 2 0.5'],
])('multiples of %f', (multipleOf, right, wrong) => {
  const number = accepting({ type: 'number', multipleOf });
  expect(right.split(' ').filter((text) => !number(text))).toEqual([]);
  expect(wrong.split(' ').filter(number)).toEqual([]);
});

test('multiples above the safe integers are not listed', () => {
  const number = accepting({ type: 'number', multipleOf: 0.25, minimum: 1e17, maximum: 1e17 });
  expect([number('100000000000000000'), number('100000000000000001')]).toEqual([true, false]);
});

test('unsatisfiable bounds leave the other branches, however large they are', () => {
  for (const multipleOf of [0.1, 0.25, 1e16]) {
    const bounds = { multipleOf, minimum: 1, maximum: -9007199254740992 };
    expect(accepting({ type: ['number', 'null'], ...bounds })('null')).toBe(true);
    expect(accepting({ type: 'number', ...bounds })('0')).toBe(false);
  }
});

test.each([
  [{ minimum: 3 }, ['3', '3.000001', '12.99', '999999999999999'], ['2.999999', '-3', '03', '']],
  [{ exclusiveMinimum: 3 }, ['3.000001', '4'], ['3', '3.0', '3.000000']],
  [{ exclusiveMaximum: 1e9 }, ['0.25', '999999999.99'], ['1000000000', '999999999.999999']],
  [{ maximum: -0.5 }, ['-0.5', '-0.51', '-7'], ['-0.49', '0']],
  [{ multipleOf: 500 }, ['0', '500', '-1500'], ['50', '250', '-0']],
])('open ends: %j', (bounds, taken, refused) => {
  const number = accepting({ type: 'number', ...bounds });
  expect(taken.filter(number)).toEqual(taken);
  expect(refused.filter(number)).toEqual([]);
});

test('an exclusive bound beyond the precision of a double leaves the others in force', () => {
  const share = accepting({ type: 'number', exclusiveMinimum: 0, maximum: 2.5, exclusiveMaximum: 1e18 });
  expect(['-1', '0', '0.5', '2.5', '2.6', '1000000000000000001'].filter(share)).toEqual(['0.5', '2.5']);
  const large = accepting({ type: 'number', exclusiveMinimum: 1e15, maximum: 2e15 });
  expect(['5', '999999999999999', '1000000000000001', '2000000000000000.1'].filter(large)).toEqual([
    '1000000000000001',
  ]);
});
