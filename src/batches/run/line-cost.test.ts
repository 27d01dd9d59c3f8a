import { expect, it } from 'vitest';
import { estimatedLineCost } from './line-cost.ts';

const lines = [
  { line: 0, offset: 0, length: 400 },
  { line: 1, offset: 401, length: 4_004 },
];
const chunk = { model: 'm', lines, est: 2_000 };
const base = { input: 2_000_000, cachedInput: 1_000_000, output: 6_000_000 };
const tier = { above: 1_000, input: 40_000_000, cachedInput: 1_000_000, output: 30_000_000 };

it('prices the tokens of a line at the higher rate for the length of its prompt', () => {
  const batch = { prices: { m: { ...base, tiers: [tier] } }, priceFactor: 0.5 };
  const costs = lines.map((line) => estimatedLineCost(chunk, line, batch));
  expect(costs).toEqual([(1_000 * 6) / 2, (1_000 * 40) / 2]);
});

it('is nothing for a model without a frozen price', () => {
  expect(estimatedLineCost(chunk, lines[0]!, { prices: {}, priceFactor: 1 })).toBe(0);
});
