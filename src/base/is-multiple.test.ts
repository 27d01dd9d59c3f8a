import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { isMultiple } from './is-multiple.ts';

it('compares the decimal numbers, to the last digit', () => {
  const digits = fc.integer({ min: -1e9, max: 1e9 });
  fc.assert(
    fc.property(digits, fc.integer({ min: 1, max: 200 }), fc.integer({ min: 0, max: 6 }), (n, m, places) => {
      const scaled = (value: number) => Number(`${value}e-${places}`);
      expect(isMultiple(scaled(n * m), scaled(m))).toBe(true);
      expect(isMultiple(scaled(n), scaled(m))).toBe(n % m === 0);
    }),
  );
});

it.each([
  [0.29, 0.01, true],
  [19.99, 0.01, true],
  [19.995, 0.01, false],
  [7.0000001, 1, false],
  [0, 0.3, true],
  [-0, 7, true],
  [1e300, 1e-300, false],
  [1e21, 7e20, false],
  [2 ** 53 - 1, 3, false],
  [2 ** 53 - 2, 3, true],
])('%f of %f: %s', (value, step, expected) => expect(isMultiple(value, step)).toBe(expected));
