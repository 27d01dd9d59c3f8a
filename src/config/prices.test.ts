import { expect, it } from 'vitest';
import { nanoDollars } from '../core/price.ts';
import { prices } from './prices.ts';
import { createChecker } from './source-value.ts';
import { parseSourceYaml } from './source-yaml.ts';

function read(text: string) {
  const check = createChecker();
  const root = parseSourceYaml(`price: ${text}\n`, 'a.yaml', () => undefined, check);
  const found = prices(check.object(root, ['price']).price, check);
  return { found, problems: check.problems.map(({ message }) => message) };
}

it('reads one price, whose cached input costs as much as other input', () => {
  const usd = nanoDollars(2);
  expect(read('{ input: 2 }')).toEqual({ found: { input: usd, cachedInput: usd, output: 0 }, problems: [] });
});

it('reads tiers, which keep what they do not name, in order', () => {
  const { found, problems } = read(
    '{ input: 2, cached_input: 1, cache_write: 3, output: 4, tiers: [{ above: 20, output: 9 }, { above: 10, input: 5 }] }',
  );
  const [one, two, three, four, five, nine] = [1, 2, 3, 4, 5, 9].map(nanoDollars);
  expect(problems).toEqual([]);
  expect(found.tiers).toEqual([
    { above: 10, input: five, cachedInput: five, cacheWrite: three, output: four },
    { above: 20, input: two, cachedInput: one, cacheWrite: three, output: nine },
  ]);
});

it('reads changes by day and by instant', () => {
  const { found, problems } = read(
    '[{ input: 1 }, { from: 2027-01-01, input: 2 }, { from: "2027-02-01T08:00:00Z", input: 3 }]',
  );
  expect(problems).toEqual([]);
  expect(found.changes?.map(({ from, input }) => [from, input])).toEqual([
    [Date.UTC(2027, 0, 1), nanoDollars(2)],
    [Date.UTC(2027, 1, 1, 8), nanoDollars(3)],
  ]);
});

it.each([
  ['{ from: 2027-01-01, input: 1 }', 'one price applies at all times'],
  ['[]', 'must have at least one price'],
  ['[{ from: 2027-01-01, input: 1 }]', 'the first price applies from the beginning'],
  ['[{ input: 1 }, { input: 2 }]', 'needs a from'],
  ['[{ input: 1 }, { from: 2027-01-02 }, { from: 2027-01-01 }]', 'must be after the previous from'],
  ['[{ input: 1 }, { from: 2027-02-30 }]', 'expected a day (UTC)'],
  ['{ tiers: [{ input: 1 }] }', 'needs above'],
])('rejects %s', (text, message) => {
  expect(read(text).problems.join()).toContain(message);
});
