import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { sortSteps } from './sort-steps.ts';

function run<T>(work: Generator<undefined, T>): { value: T; steps: number } {
  for (let steps = 1; ; steps++) {
    const { done, value } = work.next();
    if (done) return { value, steps };
  }
}

it('sorts as toSorted does, equal items in their order', () => {
  const item = fc.record({ key: fc.nat(50), id: fc.nat() });
  fc.assert(
    fc.property(fc.array(item, { maxLength: 3_000, size: 'max' }), (items) => {
      const compare = (a: { key: number }, b: { key: number }) => a.key - b.key;
      expect(run(sortSteps(items, compare)).value).toEqual(items.toSorted(compare));
    }),
    { numRuns: 20 },
  );
});

it('takes steps of at most a thousand comparisons, a single one for a short list', () => {
  let compared = 0;
  const compare = (a: number, b: number) => {
    compared++;
    return a - b;
  };
  const work = sortSteps(
    Array.from({ length: 100_000 }, (_, n) => (n * 7_919) % 100_003),
    compare,
  );
  let most = 0;
  for (let done: boolean | undefined = false; !done; most = Math.max(most, compared)) {
    compared = 0;
    ({ done } = work.next());
  }
  // A step sorts 512 items, with up to 512 * log2(512) comparisons.
  expect(most).toBeLessThan(512 * 9);
  expect(run(sortSteps([3, 1, 2], (a, b) => a - b))).toEqual({ value: [1, 2, 3], steps: 1 });
});
